"""The tree keeps the shape of the pipeline: who imports whom, how long things are, and what is public."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# The stages in the order of the pipeline; a module imports only from its own stage and from earlier ones.
STAGES = ["errors", "targets", "describe", "flash", "compile", "pack", "generate", "data", "runtime"]
# To measure is to launch: tune stands after the run-time part, which itself uses nothing of the build's stages.
STAGES += ["tune", "torch", "cli"]
# The run-time part stands alone: it may use these and nothing else of the package.
RUNTIME_USES = {"errors", "targets", "runtime"}
# The Triton function of a kernel is one function by nature.
KERNELS = ROOT / "aotriton" / "flash" / "kernels"
MAX_LINES, MAX_FUNCTION = 500, 60


def modules(package: str) -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def is_module(package: str, name: str) -> bool:
    """Whether `from package import name` gives a module, and not another thing of that name that the package lists."""
    return f"{package}.{name}" in ALL and name not in (listed(ALL[package]) or ())


def listed(path: Path) -> list[str] | None:
    """What `__all__` says; None where there is none."""
    for node in tree(path).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return list(ast.literal_eval(node.value))
    return None


def executed(path: Path) -> list[ast.AST]:
    """All nodes of a module but those that only a type checker sees."""
    nodes = list(ast.walk(tree(path)))
    typing = [node for node in nodes if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    unseen = {child for node in typing for statement in node.body for child in ast.walk(statement)}
    return [node for node in nodes if node not in unseen]


def imports(name: str, path: Path) -> set[str]:
    """All modules that one imports, at its top or inside functions, by their whole names."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in executed(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            names = {alias.name for alias in node.names}
            found.update(f"{source}.{name}" for name in names if is_module(source, name))
            found.update({source} if any(not is_module(source, name) for name in names) else ())
    return found


def stage(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


ALL = modules("aotriton")
PUBLIC = {
    name: path
    for name, path in {**ALL, **modules("pyaotriton")}.items()
    if not any(part.startswith("_") for part in name.split(".")) and KERNELS not in path.parents
}


def test_every_folder_is_a_stage():
    assert {stage(name) for name in ALL} - {"", "__main__"} <= set(STAGES)


@pytest.mark.parametrize("name", [name for name in ALL if stage(name) in STAGES])
def test_imports_point_to_earlier_stages(name):
    mine = stage(name)
    used = {stage(other) for other in imports(name, ALL[name]) if other.startswith("aotriton.")}
    allowed = RUNTIME_USES if mine == "runtime" else set(STAGES[: STAGES.index(mine) + 1])
    assert used <= allowed, f"{name} imports {sorted(used - allowed)}; it may import {sorted(allowed)}"


def test_package_itself_is_the_run_time_part():
    used = {stage(other) for other in imports("aotriton", ALL["aotriton"]) if other.startswith("aotriton.")}
    assert used <= RUNTIME_USES
    for name, path in modules("pyaotriton").items():
        used = {stage(other) for other in imports(name, path) if other.startswith("aotriton.")}
        assert used <= RUNTIME_USES, name


def test_no_import_cycles():
    graph = {name: {other for other in imports(name, path) if other in ALL} - {name} for name, path in ALL.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, "a cycle of imports: " + " → ".join([*trail[trail.index(name) :], name])
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_only_kernels_compilers_and_the_interpreter_name_triton():
    users = {stage(name) for name, path in ALL.items() if any(i.split(".")[0] == "triton" for i in imports(name, path))}
    assert users <= {"flash", "compile", "runtime", "cli"}
    described = {name: path for name, path in ALL.items() if stage(name) == "flash" and KERNELS not in path.parents}
    assert not [name for name, path in described.items() if any(i.startswith("triton") for i in imports(name, path))]


BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {blocked}:
            raise ImportError(f'{{name}} is blocked by this test')
sys.meta_path.insert(0, Block())
"""


def run_blocked(code: str, *blocked: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = BLOCK.format(blocked=set(blocked)) + code
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("package", ["aotriton", "pyaotriton"])
def test_run_time_part_imports_without_triton_and_torch(package):
    code = f"import {package}, sys; print(*sorted(m for m in sys.modules if m.startswith('aotriton.')))"
    loaded = run_blocked(code, "triton", "torch", "flatc", "rich", "elftools", "msgpack").split()
    assert {stage(name) for name in loaded} <= RUNTIME_USES


def test_descriptions_load_without_triton():
    code = "from aotriton.describe import load_family; load_family('aotriton.flash.description')"
    run_blocked(code, "triton", "torch")


def defined(path: Path) -> set[str]:
    """Names that a module gives others; those of an __init__.py include what it takes from its own package."""
    names: set[str] = set()
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom) and path.name == "__init__.py":
            own = node.level or (node.module or "").split(".")[0] in {"aotriton", "pyaotriton"}
            taken = [alias for alias in node.names if own and not is_module(node.module or "", alias.name)]
            names.update(alias.asname or alias.name for alias in taken)
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("name", PUBLIC)
def test_all_lists_the_public_names(name):
    path = PUBLIC[name]
    names, public = defined(path), listed(path)
    assert public is not None or not names, f"{name} has public names but no __all__"
    public = [one for one in public or () if not one.startswith("__")]
    assert len(public) == len(set(public))
    if path.name == "__init__.py":
        assert set(public) == names
    else:
        assert set(public) <= names


@pytest.mark.parametrize("name", [name for name, path in ALL.items() if KERNELS not in path.parents])
def test_modules_take_only_public_names_from_each_other(name):
    for node in executed(ALL[name]):
        if isinstance(node, ast.ImportFrom) and node.module in ALL:
            taken = {alias.name for alias in node.names if not is_module(node.module, alias.name)}
            assert taken <= set(listed(ALL[node.module]) or ()), f"{name} takes from {node.module}"


def sources() -> list[Path]:
    folders = ["aotriton", "pyaotriton", "csrc", "include", "tests", "examples", "benchmarks", "docs", "schema"]
    suffixes = {".py", ".cc", ".cpp", ".c", ".h", ".fbs"}
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes]


def test_files_are_read_in_one_sitting():
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert not {str(path): length for path, length in lengths.items() if length > MAX_LINES}


def length_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function, its docstring aside."""
    first = function.body[0]
    text = ast.get_docstring(function) is not None
    return function.end_lineno - function.lineno + 1 - (first.end_lineno - first.lineno + 1 if text else 0)


def test_functions_are_short():
    long = {}
    for name, path in {**ALL, **modules("pyaotriton")}.items():
        if KERNELS in path.parents:
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and length_of(node) > MAX_FUNCTION:
                long[f"{name}.{node.name}"] = length_of(node)
    assert not long


def test_every_module_says_what_it_is():
    silent = [name for name, path in ALL.items() if not ast.get_docstring(tree(path))]
    assert not silent
