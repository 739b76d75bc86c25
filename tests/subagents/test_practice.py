"""After the rehearsal a worker makes nothing anew that it could share."""

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

# In a process of its own: here other tests have used the patterns already.
CODE = """
import sys
import onepen.subagents.worker
from onepen.subagents.process.practice import practise
from pathlib import Path
from re import _compiler
if sys.argv[2:]:
    practise()
before = set(sys.modules)
real, compiled = _compiler.compile, []
def compile(pattern, flags=0):
    compiled.append(str(pattern))
    return real(pattern, flags)
_compiler.compile = compile

from onepen.subagents.toolbox.drafting import Drafting
from onepen.subagents.prompt import first_message, prefix_sha, system_blocks, tools
from onepen.subagents.toolbox.reading import Reading
from onepen.subagents.toolbox.toolinput import ProposeEdit, WriteDraft, parse_input
root = Path(sys.argv[1])
(root / "drafts").mkdir()
(root / "inputs").mkdir()
(root / "projects").mkdir()
(root / "inputs/cones.md").write_text("Cone 6.\\n")
(root / "projects/kiln.md").write_text("---\\ntitle: Kiln\\n---\\n\\n# Kiln\\n\\n## Firing\\n\\n- fire at 1200\\n")
reading = Reading(root, root / "inputs", ("cones.md",))
drafting = Drafting(root / "drafts", reading, None)
reading.input("cones.md", None, None).render()
reading.card("kiln", None, None).render()
entry = {"section_id": "part", "summary": "It is said.", "keywords": ["cone"]}
text = '# Found\\n\\n## Part\\n\\n> "Cone 6." (inputs/cones.md:1)\\n'
given = {"text": text, "title": "Found", "index": [entry], "sources": ["inputs/cones.md:1"]}
drafting.write(parse_input("write_draft", WriteDraft, given))
change = {"card": "kiln", "section": "firing", "old_text": "1200", "new_text": "1220"}
change["index_entry"] = {"section_id": "firing", "summary": "Fire at 1220."}
drafting.propose(parse_input("propose_edit", ProposeEdit, change))
print(len(compiled), sorted(set(sys.modules) - before), compiled)
"""


def made(place: Path, *arguments: str) -> tuple[int, str]:
    """How many patterns an attempt compiles, and what else it says."""
    place.mkdir()
    command = (sys.executable, "-P", "-c", CODE, str(place), *arguments)
    said = subprocess.run(command, cwd=REPOSITORY, text=True, capture_output=True, check=True).stdout
    count = re.match(r"\d+", said)
    assert count is not None, said
    return int(count[0]), said


def test_after_the_rehearsal_no_pattern_is_compiled_and_nothing_imported(tmp_path: Path) -> None:
    bare, _ = made(tmp_path / "bare")
    assert bare > 10, "without the rehearsal there is something to do"
    count, said = made(tmp_path / "practised", "practised")
    assert (count, "[]" in said) == (0, True), said
