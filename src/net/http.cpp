// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "net/http.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cupel::net {

namespace {

constexpr std::size_t kShown = 300;  // bytes of a message that is no JSON

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// The message inside: {"error": {"message": m}}, {"error": m}, {"detail": m}, {"message": m}.
const nlohmann::json* message_of(const nlohmann::json& j) {
  if (!j.is_object()) return nullptr;
  for (const char* key : {"error", "detail", "message"}) {
    const auto at = j.find(key);
    if (at == j.end()) continue;
    if (at->is_object()) return message_of(*at);
    if (!at->is_null()) return &*at;
  }
  return nullptr;
}

std::string shortened(std::string text) {
  if (text.size() <= kShown) return text;
  text.resize(kShown);
  return text + "...";
}

}  // namespace

std::string_view HttpResponse::header(std::string_view name) const {
  const auto same = [&](const auto& h) {
    return std::equal(h.first.begin(), h.first.end(), name.begin(), name.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
  };
  const auto at = std::find_if(headers.begin(), headers.end(), same);
  return at == headers.end() ? std::string_view() : std::string_view(at->second);
}

std::string error_text(const HttpResponse& response) {
  const auto j = nlohmann::json::parse(response.body, nullptr, false);
  const nlohmann::json* message = j.is_discarded() ? nullptr : message_of(j);
  if (!message) return shortened(response.body);
  using Handler = nlohmann::json::error_handler_t;
  return shortened(message->is_string() ? message->get<std::string>()
                                        : message->dump(-1, ' ', false, Handler::replace));
}

}  // namespace cupel::net
