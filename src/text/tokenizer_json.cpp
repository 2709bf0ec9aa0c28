// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/tokenizer_json.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cupel::text {
namespace {

using nlohmann::json;

constexpr std::size_t kDeepest = 64;

/// Receives the parser's events. model.vocab and model.merges go to the tables, everything else
/// becomes a tree.
class Reader : public json::json_sax_t {
 public:
  Reader(json& root, ModelTables& tables) : root_(root), tables_(tables) {}

  bool null() override { return table_ ? odd() : value(nullptr); }
  bool boolean(bool v) override { return table_ ? odd() : value(v); }
  bool number_integer(number_integer_t v) override {
    return table_ ? number(static_cast<double>(v), v) : value(v);
  }
  bool number_unsigned(number_unsigned_t v) override {
    if (!table_) return value(v);
    return number(static_cast<double>(v), v > INT64_MAX ? -1 : static_cast<int64_t>(v));
  }
  bool number_float(number_float_t v, const string_t&) override {
    return table_ ? number(v, -1) : value(v);
  }
  bool string(string_t& v) override { return table_ ? text(v) : value(std::move(v)); }
  bool binary(binary_t&) override { return odd(); }

  bool start_object(std::size_t) override {
    if (table_) return odd();
    if (enters_table()) {
      if (key_ != "vocab") return odd();
      return table_ = Table::map, true;
    }
    return open(json::object());
  }
  bool key(string_t& k) override {
    (table_ ? text_ : key_) = std::move(k);
    return true;
  }
  bool end_object() override {
    if (table_ == Table::map) return table_ = Table::none, true;
    open_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    if (table_ == Table::map || row_ >= 0) return odd();
    if (table_) return row_ = 0, true;
    if (enters_table()) return table_ = key_ == "vocab" ? Table::scores : Table::merges, true;
    return open(json::array());
  }
  bool end_array() override {
    if (row_ >= 0) {
      if (row_ != 2) return odd();
      return row_ = -1, true;
    }
    if (table_) return table_ = Table::none, true;
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception& e) override {
    fail(Fault::data, "tokenizer: JSON is broken at byte ", at, ": ", e.what());
  }

 private:
  enum Table { none, map, scores, merges };

  bool enters_table() const {
    return open_.size() == 2 && model_ == open_.back() && (key_ == "vocab" || key_ == "merges");
  }
  bool odd() const {
    fail(Fault::data, "tokenizer: model.", key_, " must be ",
         key_ == "merges" ? "a list of pairs of tokens"
                          : "a map from token to id, or a list of [token, score]");
  }

  json* place(json v) {
    if (open_.empty()) return &(root_ = std::move(v));
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(v));
      return &parent.back();
    }
    return &(parent[key_] = std::move(v));
  }
  template <class V>
  bool value(V v) {
    place(json(std::move(v)));
    return true;
  }
  bool open(json v) {
    CUPEL_CHECK(open_.size() < kDeepest, data, "tokenizer: JSON is nested deeper than ", kDeepest);
    const bool is_model = open_.size() == 1 && key_ == "model";
    open_.push_back(place(std::move(v)));
    if (is_model) model_ = open_.back();
    return true;
  }

  bool number(double score, int64_t id) {
    if (table_ == Table::map && id >= 0) {
      tables_.vocabulary.emplace_back(std::move(text_), id);
      return true;
    }
    if (table_ != Table::scores || row_ != 1) return odd();
    tables_.scores.emplace_back(std::move(text_), score);
    return row_ = 2, true;
  }
  bool text(string_t& v) {
    if (table_ == Table::merges && row_ < 0) {
      tables_.joined_merges.push_back(std::move(v));
    } else if (table_ == Table::merges && row_ == 1) {
      tables_.merges.emplace_back(std::move(text_), std::move(v));
      row_ = 2;
    } else if (row_ == 0) {
      text_ = std::move(v);
      row_ = 1;
    } else {
      odd();
    }
    return true;
  }

  json& root_;
  ModelTables& tables_;
  std::vector<json*> open_;  // the containers that the parser is inside of
  const json* model_ = nullptr;
  std::string key_;  // of the tree
  Table table_ = Table::none;
  std::string text_;  // first part of the entry being read
  int row_ = -1;      // elements seen of an inner list, -1 outside of one
};

}  // namespace

struct TokenizerJson::Impl {
  json root;
  ModelTables tables;
};

TokenizerJson::TokenizerJson(std::string_view text) : impl_(std::make_unique<Impl>()) {
  Reader reader(impl_->root, impl_->tables);
  json::sax_parse(text.begin(), text.end(), &reader);
  CUPEL_CHECK(impl_->root.is_object(), data, "tokenizer: JSON must be an object, not ",
              impl_->root.type_name());
  CUPEL_CHECK(impl_->tables.merges.empty() || impl_->tables.joined_merges.empty(), data,
              "tokenizer: model.merges mixes pairs and strings");
}

TokenizerJson::TokenizerJson(TokenizerJson&&) noexcept = default;
TokenizerJson::~TokenizerJson() = default;

Part TokenizerJson::root() const {
  return Part(&impl_->root, "");
}
const ModelTables& TokenizerJson::tables() const {
  return impl_->tables;
}

}  // namespace cupel::text
