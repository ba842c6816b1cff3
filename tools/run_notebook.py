"""Runs the code cells of a notebook in order and keeps what they show.

usage: run_notebook.py NOTEBOOK [OUT]

A cell shows what it prints and, in a notebook's way, the value of its last line. Fails with the
cell's number if one does. OUT is the notebook with these outputs; it may be the same file.
"""
import ast
import contextlib
import io
import json
import os
import pathlib
import sys
import traceback


def run_cell(source, names):
    """The outputs of a cell, as notebooks store them."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, outputs = io.StringIO(), []
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout",
                        "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": [repr(value)]}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = [value._repr_html_()]
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {},
                        "data": data})
    return outputs


def main():
    path = pathlib.Path(sys.argv[1]).resolve()
    notebook = json.loads(path.read_text())
    out = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    os.chdir(path.parent)
    names = {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, 1):
        try:
            cell["outputs"] = run_cell("".join(cell["source"]), names)
        except Exception:
            traceback.print_exc()
            sys.exit(f"{path.name}: code cell {number} failed")
        cell["execution_count"] = number
        for output in cell["outputs"]:
            if "execution_count" in output:
                output["execution_count"] = number
    if out:
        out.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    print(f"{path.name}: {len(code)} cells")


if __name__ == "__main__":
    main()
