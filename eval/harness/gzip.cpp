// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/gzip.h"

#include <zlib.h>

#include <memory>
#include <vector>

#include "base/error.h"

namespace cupel::eval {

namespace {

constexpr std::size_t kLargest = std::size_t{4} << 30, kPiece = 1 << 20;
constexpr int kGzipWindow = 15 + 16;  // the largest window, gzip header

struct End {
  void operator()(z_stream* z) const { inflateEnd(z); }
};

}  // namespace

std::string gunzip(std::string_view bytes, const std::string& name) {
  z_stream z{};
  CUPEL_CHECK(inflateInit2(&z, kGzipWindow) == Z_OK, environment, "zlib does not start");
  const std::unique_ptr<z_stream, End> guard(&z);
  CUPEL_CHECK(bytes.size() < kLargest, data, "'", name, "' is larger than 4 GiB");
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::vector<char> piece(kPiece);
  for (bool ended = false; !ended || z.avail_in > 0;) {
    if (ended) inflateReset(&z);
    z.next_out = reinterpret_cast<Bytef*>(piece.data());
    z.avail_out = kPiece;
    const int code = inflate(&z, Z_NO_FLUSH);
    out.append(piece.data(), kPiece - z.avail_out);
    CUPEL_CHECK(code == Z_OK || code == Z_STREAM_END, data, "'", name,
                "' is not a whole gzip file (", z.msg ? z.msg : "it ends early", ")");
    CUPEL_CHECK(out.size() < kLargest, data, "'", name, "' holds more than 4 GiB");
    ended = code == Z_STREAM_END;
  }
  return out;
}

}  // namespace cupel::eval
