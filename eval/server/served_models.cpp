// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/server/served_models.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/yaml.h"

namespace cupel::eval {

namespace {

using nlohmann::json;

/// vLLM's key, other servers' keys. What llama.cpp calls n_ctx_train is not what a request may use.
int64_t positions_of(const json& model) {
  for (const char* key : {"max_model_len", "context_length", "context_window", "n_ctx"})
    if (const auto at = model.find(key); at != model.end() && at->is_number_integer())
      return at->get<int64_t>();
  const auto meta = model.find("meta");
  return meta != model.end() && meta->is_object() ? positions_of(*meta) : 0;
}

std::vector<std::string> names_of(const std::vector<ServedModel>& models) {
  std::vector<std::string> out;
  for (const ServedModel& m : models) out.push_back(m.name);
  return out;
}

}  // namespace

ServerAddress parse_server_address(const std::string& text) {
  const std::size_t hash = std::min(text.find('#'), text.size());
  ServerAddress out{net::parse_url(text.substr(0, hash)),
                    text.substr(std::min(hash + 1, text.size()))};
  constexpr std::string_view kPage = "/completions";
  if (out.url.path.ends_with(kPage)) out.url.path.resize(out.url.path.size() - kPage.size());
  if (out.url.path.empty()) out.url.path = "/v1";
  return out;
}

std::vector<ServedModel> served_models(net::HttpClient& client) {
  const net::HttpResponse response = client.get("/models");
  if (response.status == 404 || response.status == 405 || response.status == 501) return {};
  client.check_ok(response, "/models");
  const json j = json::parse(response.body, nullptr, false);
  const auto data = j.is_object() ? j.find("data") : j.end();
  CUPEL_CHECK(j.is_object() && data != j.end() && data->is_array(), environment,
              client.url().text(), "/models lists no models: '", response.body.substr(0, 100),
              "'; is this a server that speaks OpenAI's completions?");
  std::vector<ServedModel> out;
  for (const json& m : *data) {
    const bool named = m.is_object() && m.contains("id") && m["id"].is_string();
    CUPEL_CHECK(named, environment, client.url().text(), "/models lists a model without a name");
    out.push_back({m["id"].get<std::string>(), positions_of(m)});
  }
  return out;
}

ServedModel choose_model(const std::vector<ServedModel>& models, const ServerAddress& address) {
  const std::string url = address.url.text();
  if (address.name.empty()) {
    CUPEL_CHECK(!models.empty(), user, url, " does not list its models; name the one to ask: ", url,
                "#NAME");
    CUPEL_CHECK(models.size() == 1, user, url, " serves ", models.size(),
                " models; name one: ", url, "#NAME (", joined(names_of(models)), ")");
    return models[0];
  }
  if (models.empty()) return {address.name, 0};
  const auto at = std::find_if(models.begin(), models.end(),
                               [&](const ServedModel& m) { return m.name == address.name; });
  if (at != models.end()) return *at;
  const std::string near = nearest_name(address.name, names_of(models));
  fail(Fault::user, url, " serves no model '", address.name, "'",
       near.empty() ? "" : cat("; did you mean '", near, "'?"), " (it serves ",
       joined(names_of(models)), ")");
}

}  // namespace cupel::eval
