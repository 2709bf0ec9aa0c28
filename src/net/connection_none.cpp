// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// In place of connection_beast.cpp where Boost's headers were not found.
#include "base/error.h"
#include "net/connection.h"

namespace cupel::net {

std::unique_ptr<Connection> make_connection(const Url& url, const ConnectionLimits&) {
  fail(Fault::environment, "'", url.text(),
       "': http was not built in, because Boost's headers (Debian: libboost-dev) were not there");
}

}  // namespace cupel::net
