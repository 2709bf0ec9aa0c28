// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <string>

#include "base/error.h"
#include "export/artifact_writer.h"
#include "format/artifact.h"
#include "format/h5.h"

namespace cupel::export_ {

void verify_artifact(const std::string& path) {
  const auto artifact = format::Artifact::open(path);
  artifact->verify();

  const format::H5Reader hdf5(path);
  std::vector<std::string> indexed;
  for (const auto& d : artifact->datasets()) {
    indexed.push_back(d.name);
    CUPEL_CHECK(hdf5.has(d.name), data, path, ": ", d.name,
                " is in the index, but HDF5 has no such ", "dataset");
    const uint64_t offset = hdf5.offset(d.name);
    CUPEL_CHECK(offset == d.offset, data, path, ": ", d.name, " lies at ", d.offset,
                " by the index, at ", offset, " for HDF5");
    const format::Array a = hdf5.read(d.name);
    CUPEL_CHECK(a.type == d.type && a.shape == d.shape, data, path, ": ", d.name, " is ",
                format::traits(d.type).name, " ", list_text(d.shape), " by the index, ",
                format::traits(a.type).name, " ", list_text(a.shape), " for HDF5");
    const auto bytes = artifact->bytes_of(d);
    CUPEL_CHECK(std::equal(bytes.begin(), bytes.end(), a.bytes.begin(), a.bytes.end()), data, path,
                ": ", d.name, " has other bytes for HDF5 than in the map");
  }
  std::sort(indexed.begin(), indexed.end());
  for (const std::string& name : hdf5.names())
    CUPEL_CHECK(std::binary_search(indexed.begin(), indexed.end(), name), data, path, ": HDF5 has ",
                name, ", which is not in the index");
}

}  // namespace cupel::export_
