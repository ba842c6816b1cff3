"""Answers of `sotta serve` beside src/serve/http/openapi.json, by Python's jsonschema (Debian:
python3-jsonschema); without it nothing is looked at."""
import json
import os
import re

try:
    import jsonschema
except ImportError:
    jsonschema = None


class Document:
    def __init__(self, path):
        with open(path) as file:
            self.json = json.load(file)
        # Paths without parameters first: /v2/models/stats is no model's.
        self.paths = [(re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) + "$"), path)
                      for path in sorted(self.json["paths"], key=lambda path: path.count("{"))]
        self.seen = set()  # (method, path, status)

    def operations(self):
        return {(method.upper(), path) for path, item in self.json["paths"].items() for method in item if method != "parameters"}

    def resolve(self, part):
        while "$ref" in part:
            name = part["$ref"].split("/")[2:]
            part = self.json["components"][name[0]][name[1]]
        return part

    def check(self, method, target, answer):
        """Throws unless the document says that this request may have this answer."""
        if jsonschema is None:
            return
        path = next((path for pattern, path in self.paths if pattern.match(target.split("?")[0])), None)
        operation = self.json["paths"].get(path, {}).get(method.lower())
        what = f"openapi.json: {method} {target} {answer.status}"
        if operation is None:
            assert answer.status in (400, 401, 403, 404, 405), f"{what} is not in it"
            return self.validate({"$ref": "#/components/schemas/Error"}, answer.json, what)
        responses = operation["responses"]
        response = responses.get(str(answer.status)) or responses.get(f"{answer.status // 100}XX")
        assert response, f"{what} is not in it"
        kind = answer.headers["Content-Type"].split(";")[0]
        content = self.resolve(response)["content"]
        assert kind in content, f"{what}: {kind} is not in it"
        if kind == "application/json":
            self.validate(content[kind]["schema"], answer.json, what)
        elif answer.json is not None:  # in front of binary outputs
            self.validate({"$ref": "#/components/schemas/InferenceResponse"}, answer.json, what)
        self.seen.add((method, path, answer.status))

    def validate(self, schema, instance, what):
        validator = jsonschema.Draft202012Validator({**schema, "components": self.json["components"]})
        for error in validator.iter_errors(instance):
            raise AssertionError(f"{what}: {'/'.join(map(str, error.path))}: {error.message}")


DOCUMENT = Document(os.path.join(os.environ["SOTTA_ROOT"], "src/serve/http/openapi.json"))
