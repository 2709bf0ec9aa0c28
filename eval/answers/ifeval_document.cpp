// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "eval/answers/ifeval_checks.h"

namespace cupel::eval {
namespace {

using nlohmann::json;

const json& field(const json& object, const char* name) {
  CUPEL_CHECK(object.contains(name), data, "an IFEval document has no '", name, "'");
  return object[name];
}

// False for the values that Python counts as false.
bool read_value(const json& j, const std::string& id, const std::string& name, IfevalValue& out) {
  if (j.is_null() || j == false || j == "" || (j.is_array() && j.empty())) return false;
  if (j.is_number()) {
    out = j.get<double>();
    return j.get<double>() != 0;
  }
  if (j.is_string()) {
    out = j.get<std::string>();
    return true;
  }
  CUPEL_CHECK(
      j.is_array() && std::all_of(j.begin(), j.end(), [](const json& x) { return x.is_string(); }),
      data, "instruction '", id, "': argument '", name,
      "' must be a number, a text or a list of texts, not ", j.dump());
  out = j.get<std::vector<std::string>>();
  return true;
}

}  // namespace

IfevalDocument read_ifeval_document(const std::string& text) {
  const json j = json::parse(text, nullptr, false);
  CUPEL_CHECK(j.is_object(), data, "an IFEval document must be a JSON object");
  const json &prompt = field(j, "prompt"), &ids = field(j, "instruction_id_list"),
             &kwargs = field(j, "kwargs");
  CUPEL_CHECK(
      prompt.is_string() && ids.is_array() && kwargs.is_array(), data,
      "an IFEval document needs a text 'prompt' and lists 'instruction_id_list' and 'kwargs'");
  CUPEL_CHECK(ids.size() == kwargs.size() && !ids.empty(), data, "an IFEval document has ",
              ids.size(), " instructions and ", kwargs.size(), " sets of arguments");
  IfevalDocument out{prompt, {}};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    CUPEL_CHECK(ids[i].is_string(), data, "an instruction's id must be a text, not ",
                ids[i].dump());
    IfevalInstruction instruction{ids[i]};
    CUPEL_CHECK(kwargs[i].is_object() || kwargs[i].is_null(), data, "instruction '", instruction.id,
                "': arguments must be an object, not ", kwargs[i].dump());
    for (const auto& [name, value] : kwargs[i].items())
      if (IfevalValue v; read_value(value, instruction.id, name, v))
        instruction.arguments[name] = v;
    out.instructions.push_back(std::move(instruction));
  }
  return out;
}

void IfevalArguments::refuse(const std::string& what) const {
  fail(Fault::data, "instruction '", instruction_.id, "': ", what);
}

const IfevalValue& IfevalArguments::get(const std::string& name) {
  known_.push_back(name);
  const auto found = instruction_.arguments.find(name);
  if (found == instruction_.arguments.end()) refuse(cat("argument '", name, "' is missing"));
  return found->second;
}

std::string IfevalArguments::text(const std::string& name) {
  const auto* value = std::get_if<std::string>(&get(name));
  if (!value || value->empty()) refuse(cat("argument '", name, "' must be a text"));
  return *value;
}

std::vector<std::string> IfevalArguments::texts(const std::string& name) {
  const auto* value = std::get_if<std::vector<std::string>>(&get(name));
  if (!value || value->empty()) refuse(cat("argument '", name, "' must be a list of texts"));
  return *value;
}

std::size_t IfevalArguments::count(const std::string& name) {
  const auto* value = std::get_if<double>(&get(name));
  if (!value || *value < 1 || *value > 1e9 || *value != std::floor(*value))
    refuse(cat("argument '", name, "' must be a whole number above 0"));
  return static_cast<std::size_t>(*value);
}

bool IfevalArguments::at_least(const std::string& name) {
  const std::string relation = text(name);
  if (relation != "at least" && relation != "less than")
    refuse(cat("argument '", name, "' must be 'at least' or 'less than', not '", relation, "'"));
  return relation == "at least";
}

void IfevalArguments::done() const {
  for (const auto& [name, value] : instruction_.arguments)
    if (std::find(known_.begin(), known_.end(), name) == known_.end())
      refuse(cat("unknown argument '", name, "'"));
}

}  // namespace cupel::eval
