// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/prompt.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "text/jinja_value.h"

namespace cupel::eval {

namespace {

using text::jinja::Value;

constexpr uint64_t kFewshotSeed = 1234;  // lm-eval's default

std::vector<Field> fields(const std::vector<std::string>& sources) {
  // One entry alone is a list, so it has to be a column; among several, "A" is a text.
  const auto word = sources.size() == 1 ? Field::Word::column : Field::Word::literal;
  std::vector<Field> out;
  for (const std::string& s : sources) out.emplace_back(s, word);
  return out;
}

/// All texts of entries: a single entry may be a list.
std::vector<std::string> texts(const std::vector<Field>& entries, const Row& row) {
  if (entries.size() == 1) return entries[0].list(row);
  std::vector<std::string> out;
  for (const Field& f : entries) out.push_back(f.text(row));
  return out;
}

bool ends_in_space(const std::string& s) {
  return !s.empty() &&
         (s.back() == ' ' || s.back() == '\n' || s.back() == '\t' || s.back() == '\r');
}

}  // namespace

PromptBuilder::PromptBuilder(const Task& task, const std::vector<Row>& pool, bool own,
                             const PromptOptions& options)
    : task_(task),
      pool_(pool),
      own_(own),
      options_(options),
      shots_(options.num_fewshot.value_or(task.num_fewshot)),
      random_(kFewshotSeed),
      description_(task.description),
      text_(task.doc_to_text),
      target_(task.doc_to_target),
      continuation_(task.doc_to_continuation),
      labels_(task.doc_to_labels),
      choices_(fields(task.doc_to_choice)),
      contexts_(fields(task.doc_to_context)) {
  const auto there = static_cast<int64_t>(pool.size()) - (own ? 1 : 0);
  CUPEL_CHECK(shots_ >= 0 && (shots_ == 0 || shots_ <= there), user, "task '", task.task,
              "': ", shots_, " shots asked for, ", std::max<int64_t>(there, 0),
              " rows to take them from");
}

std::vector<const Row*> PromptBuilder::draw(const Row& row) {
  std::vector<const Row*> out;
  if (shots_ == 0) return out;
  // Copies of the row count as the row itself.
  const auto itself = [&](const Row& shot) {
    return own_ && text::jinja::equal(Value(shot), Value(row));
  };
  const auto take = [&](const Row& shot) {
    if (static_cast<int64_t>(out.size()) < shots_ && !itself(shot)) out.push_back(&shot);
  };
  if (task_.fewshot_sampler == Sampler::first_n) {
    for (const Row& shot : pool_) take(shot);
  } else {
    const auto size = static_cast<int64_t>(pool_.size());
    for (const int64_t i : random_.sample(size, shots_ + (own_ ? 1 : 0)))
      take(pool_[static_cast<std::size_t>(i)]);
    if (static_cast<int64_t>(out.size()) < shots_) out = draw_others(itself);
  }
  CUPEL_CHECK(static_cast<int64_t>(out.size()) == shots_, user, "task '", task_.task, "': ", shots_,
              " shots asked for, ", out.size(), " rows differ from the one asked");
  return out;
}

/// Draws again among the rows that are not the one asked: several copies of it were drawn.
std::vector<const Row*> PromptBuilder::draw_others(const std::function<bool(const Row&)>& itself) {
  std::vector<const Row*> others, out;
  for (const Row& shot : pool_)
    if (!itself(shot)) others.push_back(&shot);
  const auto size = static_cast<int64_t>(others.size());
  for (const int64_t i : random_.sample(size, std::min(size, shots_)))
    out.push_back(others[static_cast<std::size_t>(i)]);
  return out;
}

int64_t PromptBuilder::gold_of(const Row& row, const std::vector<std::string>& choices) const {
  const std::string target = target_.text(row);
  int64_t index = -1;
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), index);
  if (error != std::errc() || end != target.data() + target.size()) {
    const auto at = std::find(choices.begin(), choices.end(), target);
    CUPEL_CHECK(at != choices.end(), data, "the target '", target, "' is none of the choices");
    index = at - choices.begin();
  }
  CUPEL_CHECK(index >= 0 && index < static_cast<int64_t>(choices.size()), data, "the target ",
              index, " is outside the ", choices.size(), " choices");
  return index;
}

std::string PromptBuilder::question_of(const Row& row) const {
  if (contexts_.empty()) return text_.text(row);
  const auto contexts = texts(contexts_, row);
  return contexts[static_cast<std::size_t>(gold_of(row, contexts))];
}

std::string PromptBuilder::answer_of(const Row& row) const {
  if (!contexts_.empty()) return continuation_.text(row);
  if (task_.output_type != OutputType::multiple_choice) return target_.text(row);
  const auto choices = texts(choices_, row);
  return choices[static_cast<std::size_t>(gold_of(row, choices))];
}

std::string PromptBuilder::dress(const Row& row, const std::string& question) {
  std::string system = options_.system;
  const std::string description = description_.empty() ? "" : description_.text(row);
  if (!system.empty() && !description.empty() && !ends_in_space(system) &&
      description.find_first_not_of(" \n\t\r") == 0)
    system += task_.fewshot_delimiter;
  system += description;
  const std::vector<const Row*> shots = draw(row);
  if (!options_.chat) {
    std::string out = system;
    for (const Row* shot : shots)
      out += cat(question_of(*shot), task_.target_delimiter, answer_of(*shot),
                 task_.fewshot_delimiter);
    return out + question;
  }
  std::vector<text::Message> turns;
  if (!system.empty()) turns.push_back({"system", system});
  std::string folded;
  for (const Row* shot : shots) {
    if (options_.fewshot_as_multiturn) {
      turns.push_back({"user", question_of(*shot)});
      turns.push_back({"assistant", answer_of(*shot)});
    } else {
      folded += cat(question_of(*shot), task_.target_delimiter, answer_of(*shot),
                    task_.fewshot_delimiter);
    }
  }
  turns.push_back({"user", folded + question});
  return text::render_chat(*options_.chat, turns, true, options_.bos, options_.eos);
}

Question PromptBuilder::ask(const Row& row) {
  Question q;
  // A conversation ends with what opens the answer, so there is no delimiter.
  const std::string delimiter = options_.chat ? "" : task_.target_delimiter;
  if (!contexts_.empty()) {
    q.choices = texts(contexts_, row);
    q.gold = gold_of(row, q.choices);
    // The shots are the same for every context of a row.
    const std::string mark = "\x01";
    const std::string frame = dress(row, mark);
    const std::size_t at = frame.rfind(mark);
    for (const std::string& c : q.choices)
      q.contexts.push_back(std::string(frame).replace(at, mark.size(), c));
    q.continuations = {delimiter + continuation_.text(row)};
  } else {
    q.contexts = {dress(row, text_.text(row))};
    if (task_.output_type == OutputType::multiple_choice) {
      q.choices = texts(choices_, row);
      q.gold = gold_of(row, q.choices);
      for (const std::string& c : q.choices) q.continuations.push_back(delimiter + c);
    } else if (task_.output_type == OutputType::loglikelihood) {
      q.continuations = {target_.text(row)};
    }
  }
  q.target = q.gold >= 0 ? cat(q.gold) : target_.empty() ? "" : target_.text(row);
  if (!labels_.empty())
    for (const Value& v : text::jinja::iterate(labels_.value(row)))
      q.labels.push_back(v.as_double());
  CUPEL_CHECK(labels_.empty() || q.labels.size() == q.choices.size(), data, q.labels.size(),
              " labels for ", q.choices.size(), " choices");
  return q;
}

}  // namespace cupel::eval
