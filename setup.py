"""The Python package: pip install .

CMake builds the compiled part for the torch of the Python that runs this. SOTTA_BUILD=FOLDER takes
it from a build folder that is there already (`make python` does). JOBS=N: parallel jobs.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).parent.resolve()


def find_torch():
    """The environment in which Python finds torch, and torch's CMake files: this one, or that outside of pip's build isolation."""
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONNOUSERSITE")}
    for environment in dict(os.environ), outside:
        found = subprocess.run([sys.executable, "-c", "import torch; print(torch.utils.cmake_prefix_path)"], env=environment,
                               capture_output=True, text=True)
        if found.returncode == 0:
            return environment, pathlib.Path(found.stdout.splitlines()[-1])
    sys.exit("sotta is built for the torch that is installed, and there is none: install torch first")


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        built = pathlib.Path(os.environ.get("SOTTA_BUILD") or self.build_with_cmake())
        target = pathlib.Path(self.get_ext_fullpath(ext.name)).parent
        target.mkdir(parents=True, exist_ok=True)
        for file in [*(built / "python/sotta").glob("_core*.so"), built / "python/sotta/_build.py"]:
            shutil.copy2(file, target)

    def build_with_cmake(self):
        environment, own = find_torch()
        folder = ROOT / "build" / "pip"
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DSOTTA_DEVELOPER=OFF", "-DSOTTA_PYTHON=ON",
                   f"-DSOTTA_PYTHON_EXECUTABLE={sys.executable}"]
        # Upstream's wheels hold LibTorch; Debian's package uses the system's.
        if (own / "Torch" / "TorchConfig.cmake").exists():
            options.append(f"-DCMAKE_PREFIX_PATH={own}")
        if shutil.which("ninja"):
            options += ["-G", "Ninja"]
        if shutil.which("ccache"):
            options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "--fresh", *options], check=True, env=environment)
        jobs = os.environ.get("JOBS") or str(os.cpu_count())
        subprocess.run(["cmake", "--build", folder, "-j", jobs, "--target", "sotta_python"],
                       check=True, env=environment)
        return folder


version = re.search(r"project\(sotta VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
setup(name="sotta", version=version,
      description="Robust test-time adaptation of image classifiers",
      packages=["sotta"], package_dir={"": "python"},
      package_data={"sotta": ["*.pyi", "py.typed"]},
      ext_modules=[Extension("sotta._core", [])], cmdclass={"build_ext": CMakeBuild},
      python_requires=">=3.8", install_requires=["torch", "numpy"], zip_safe=False)
