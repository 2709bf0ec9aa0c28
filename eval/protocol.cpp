// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/protocol.h"

#include "base/error.h"

namespace cupel::eval {

Protocol protocol_from_name(std::string_view name) {
  for (const Protocol p : {Protocol::gptq, Protocol::llamacpp, Protocol::words})
    if (protocol_name(p) == name) return p;
  fail(Fault::user, "unknown protocol '", name, "' (known: gptq, llamacpp, words)");
}

std::string_view protocol_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::gptq:
      return "gptq";
    case Protocol::llamacpp:
      return "llamacpp";
    case Protocol::words:
      return "words";
  }
  return "";
}

RollingBos rolling_bos_from_name(std::string_view name) {
  for (const RollingBos b : {RollingBos::once, RollingBos::compat})
    if (rolling_bos_name(b) == name) return b;
  fail(Fault::user, "unknown rolling BOS '", name, "' (known: once, compat)");
}

std::string_view rolling_bos_name(RollingBos bos) {
  return bos == RollingBos::once ? "once" : "compat";
}

}  // namespace cupel::eval
