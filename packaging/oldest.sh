#!/bin/sh
# Tries the lowest versions of Python packages that pyproject.toml allows: `make oldest`. They are installed in build/oldest,
# beside the core that is there, and unit tests of what reads, computes and writes run on them.
set -eu
cd "$(dirname "$0")/.."
place=build/oldest
uv=.venv/bin/uv
python=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
$uv venv --quiet --clear --python .venv/bin/python "$place"
$uv pip compile --quiet --resolution lowest-direct --python-version "$python" --extra full --extra cluster pyproject.toml --output-file "$place/requirements.txt"
$uv pip install --quiet --python "$place" --requirement "$place/requirements.txt" pytest pytest-timeout hypothesis cryptography
# What a test compares with.
$uv pip install --quiet --python "$place" --no-deps --requirement tests/requirements.lock
# What the core's build says of keisoku itself, such as its version.
cp -r .venv/lib/python"$python"/site-packages/keisoku-*.dist-info "$place/lib/python$python/site-packages/"
echo "keisoku: $(grep -c == "$place/requirements.txt") packages at their lowest versions:"
grep -oE '^[a-z0-9._-]+==[^ ]+' "$place/requirements.txt" | tr '\n' ' '
# Programs that tests start in other folders find it, too.
pwd > "$place/lib/python$python/site-packages/keisoku.pth"
exec "$place/bin/python" -m pytest --quiet "${@:-tests/unit}"
