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
  if (draft.lookup)
    return session.set_draft(std::make_shared<runtime::LookupDraft>(), draft.tokens);
  if (draft.model.empty()) return;
  RuntimeOptions own = runtime;
  own.model = draft.model;
  const auto made = in_frame("opening the draft", [&] {
    return std::make_shared<runtime::ModelDraft>(open_runtime(common, own),
                                                 session_options(common, own), session.model());
  });
  session.set_draft(made, draft.tokens);
}

}  // namespace cupel::cli
