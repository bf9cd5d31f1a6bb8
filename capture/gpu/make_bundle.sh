#!/usr/bin/env bash
# Packs what a borrowed GPU machine lacks to build capture, from this machine's Debian packages, into FOLDER/bundle.tar.gz: headers of
# nlohmann-json, fmt, CLI11 and doctest, those of Boost that the sources include, zlib, and oneDNN with the OpenCL loader that it links.
#   capture/gpu/make_bundle.sh [FOLDER, by default .gpu-bundle]
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${1:-.gpu-bundle}
most=$((40 * 1024 * 1024))

files() {  # that a package installs for building and linking
  dpkg -L "$1" | grep -E '^/usr/(include/|lib/.*\.(a|so[.0-9]*)$|lib/.*/cmake/|lib/cmake/|share/cmake/)' | grep -v '/libz.so$' | while read -r path; do
    if [ ! -d "$path" ]; then echo "$path"; fi
  done
}

boost() {  # the compiler says what it opens; which headers describe the compiler itself depends on the machine
  g++ -std=c++20 -Isim -M sim/model/graph.cpp | tr ' \\' '\n\n' | grep '^/usr/include/boost/'
  find /usr/include/boost/config /usr/include/boost/version.hpp -name '*.hpp'
}

mkdir -p "$folder"
list=$folder/files
trap 'rm -f "$list" "$folder/bundle.tar.gz.part"' EXIT
{
  for package in nlohmann-json3-dev libfmt-dev libcli11-dev doctest-dev zlib1g-dev libdnnl-dev libdnnl2 ocl-icd-libopencl1 libfmt9; do files $package; done
  boost
} | sort -u > "$list"
tar --create --gzip --file "$folder/bundle.tar.gz.part" --directory / --transform 's,^/*,,' --absolute-names --files-from "$list"
size=$(stat -c %s "$folder/bundle.tar.gz.part")
if [ "$size" -gt $most ]; then
  echo "make_bundle: the bundle has $size bytes, and $most may travel; list what is in it with: tar tvzf" >&2
  exit 1
fi
mv "$folder/bundle.tar.gz.part" "$folder/bundle.tar.gz"
echo "$(wc -l < "$list") files for $(uname -m) in $folder/bundle.tar.gz, $((size / 1024)) KiB"
