// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/server/served_models.h"

#include "fakes.h"

namespace cupel::eval {
namespace {

using test::error_of;

TEST(ServerAddress, HasUrlAndName) {
  const ServerAddress a = parse_server_address("http://localhost:8000/v1#org/model");
  EXPECT_EQ(a.url.text(), "http://localhost:8000/v1");
  EXPECT_EQ(a.name, "org/model");
}

TEST(ServerAddress, NameAndPathMayBeMissing) {
  EXPECT_EQ(parse_server_address("http://localhost:8000").url.path, "/v1");
  EXPECT_EQ(parse_server_address("http://localhost:8000/v1/completions#m").url.path, "/v1");
  EXPECT_EQ(parse_server_address("http://localhost:8000/api").url.path, "/api");
  EXPECT_EQ(parse_server_address("http://localhost:8000/v1").name, "");
}

std::string refused(const std::vector<ServedModel>& models, const std::string& address) {
  const Error e = error_of([&] { choose_model(models, parse_server_address(address)); });
  EXPECT_EQ(e.fault(), Fault::user);
  return e.message();
}

TEST(ChooseModel, TakesTheNamedOrTheOnlyOne) {
  const std::vector<ServedModel> two = {{"alpha", 100}, {"beta", 200}};
  EXPECT_EQ(choose_model(two, parse_server_address("http://x#beta")).positions, 200);
  EXPECT_EQ(choose_model({{"alpha", 100}}, parse_server_address("http://x")).name, "alpha");
  EXPECT_EQ(choose_model({}, parse_server_address("http://x#any")).name, "any");
}

TEST(ChooseModel, NamesWhatThereIs) {
  const std::vector<ServedModel> two = {{"alpha", 100}, {"beta", 200}};
  EXPECT_NE(refused(two, "http://x").find("serves 2 models"), std::string::npos);
  EXPECT_NE(refused(two, "http://x").find("alpha, beta"), std::string::npos);
  EXPECT_NE(refused(two, "http://x#alpa").find("did you mean 'alpha'"), std::string::npos);
  EXPECT_NE(refused({}, "http://x").find("http://x:80/v1#NAME"), std::string::npos);
}

}  // namespace
}  // namespace cupel::eval
