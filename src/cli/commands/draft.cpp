// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/draft.h"

#include "base/error.h"
#include "cli/commands/commands.h"

namespace cupel::cli {

void set_draft(runtime::Session& session, const CommonOptions& common,
               const RuntimeOptions& runtime, const DraftOptions& draft) {
  CUPEL_CHECK(draft.model.empty() || !draft.lookup, user,
              "--draft and --lookup are two ways to guess; choose one");
  CUPEL_CHECK(draft.tokens == 0 || draft.lookup || !draft.model.empty(), user,
              "--draft-tokens needs --draft or --lookup");
  // With the last token they are the rows that kernels take straight from packed weights.
  const int64_t tokens = draft.tokens > 0 ? draft.tokens : 3;
  if (draft.lookup) return session.set_draft(std::make_shared<runtime::LookupDraft>(), tokens);
  if (draft.model.empty()) return;
  RuntimeOptions own = runtime;
  own.model = draft.model;
  const auto made = in_frame("opening the draft", [&] {
    return std::make_shared<runtime::ModelDraft>(open_runtime(common, own),
                                                 session_options(common, own), session.model());
  });
  session.set_draft(made, tokens);
}

}  // namespace cupel::cli
