// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "net/url.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace cupel::net {

namespace {

constexpr std::string_view kScheme = "http://";

uint16_t parse_port(std::string_view digits, std::string_view whole) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  CUPEL_CHECK(error == std::errc() && end == digits.data() + digits.size() && port > 0, user, "'",
              whole, "': '", digits, "' is not a port");
  return port;
}

/// Printable ASCII without what has a meaning in a request line.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '<' && c != '>' && c != '\\' && c != '?' &&
           c != '#' && c != '@';
  });
}

}  // namespace

std::string Url::origin() const {
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? cat("[", host, "]:", port) : cat(host, ":", port);
}

std::string Url::text() const {
  return cat(kScheme, origin(), path);
}

bool is_url(std::string_view text) {
  return text.starts_with(kScheme) || text.starts_with("https://");
}

Url parse_url(std::string_view text) {
  CUPEL_CHECK(!text.starts_with("https://"), user, "'", text,
              "': https is not built in; use http, or a tunnel that ends the encryption");
  CUPEL_CHECK(text.starts_with(kScheme), user, "'", text, "' is not an address http://host:port");
  std::string_view rest = text.substr(kScheme.size());
  Url out;
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view place = rest.substr(0, slash), path = rest.substr(slash);
  CUPEL_CHECK(is_plain(place) && is_plain(path), user, "'", text,
              "' holds characters that an address of this kind may not have");
  if (place.starts_with('[')) {
    const std::size_t end = place.find(']');
    CUPEL_CHECK(end != place.npos, user, "'", text, "' has a '[' without its ']'");
    out.host = place.substr(1, end - 1);
    place.remove_prefix(end + 1);
  } else {
    const std::size_t end = std::min(place.find(':'), place.size());
    out.host = place.substr(0, end);
    place.remove_prefix(end);
  }
  CUPEL_CHECK(!out.host.empty(), user, "'", text, "' names no host");
  if (!place.empty()) {
    CUPEL_CHECK(place[0] == ':', user, "'", text, "': ':port' or '/path' must follow the host");
    out.port = parse_port(place.substr(1), text);
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  out.path = path;
  return out;
}

}  // namespace cupel::net
