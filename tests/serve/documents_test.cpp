#include "serve/http/documents.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "serve/streams/state_store.h"
#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using Json = nlohmann::json;
using testing::small_model;
using testing::TempDir;

class Documents : public ::testing::Test {
 protected:
  TempDir folder;
  StateStore store{folder.path()};
  ServedModel model{small_model("a \"model\""), store};
};

TEST_F(Documents, MetadataSayWhatGoesInAndComesOut) {
  const Json document = Json::parse(model_document(model));

  EXPECT_EQ(document["name"], "a \"model\"");
  EXPECT_EQ(document["inputs"][0]["shape"], Json({-1, 3, -1, -1}));
  ASSERT_EQ(document["outputs"].size(), 4u);
  EXPECT_EQ(document["outputs"][0]["shape"],
            Json({-1, model.network().classes()}));
}

TEST_F(Documents, ConfigurationNamesTheSameTensors) {
  const Json metadata = Json::parse(model_document(model));
  const Json config = Json::parse(config_document(model));

  ASSERT_EQ(config["output"].size(), metadata["outputs"].size());
  for (size_t i = 0; i < config["output"].size(); ++i) {
    EXPECT_EQ(config["output"][i]["name"], metadata["outputs"][i]["name"]);
    EXPECT_EQ(config["output"][i]["dims"], metadata["outputs"][i]["shape"]);
  }
  EXPECT_EQ(config["output"][3]["data_type"], "TYPE_STRING");
  EXPECT_EQ(config["parameters"]["method"]["string_value"], "sotta");
}

TEST_F(Documents, StatisticsAddUp) {
  ModelStatistics more;
  more.requests = 1;
  more.images = 4;
  more.queue_ns = 10;
  more.compute_ns = 30;
  model.count(more);
  more.last_ms = 5;
  model.count(more);

  const Json stats =
      Json::parse(statistics_document({&model}))["model_stats"][0];

  EXPECT_EQ(stats["inference_count"], 8);
  EXPECT_EQ(stats["execution_count"], 2);
  EXPECT_EQ(stats["last_inference"], 5);
  EXPECT_EQ(stats["inference_stats"]["success"],
            Json({{"count", 2}, {"ns", 80}}));
  EXPECT_EQ(stats["inference_stats"]["cache_hit"]["count"], 0);
}

TEST_F(Documents, APageOfStreamsSaysWhetherOthersFollow) {
  StreamTable::Listed listed;
  listed.name = "x";
  listed.status.next_seq = 7;

  EXPECT_EQ(Json::parse(streams_document({listed}, true))["next"], "x");
  const Json last = Json::parse(streams_document({listed}, false));
  EXPECT_FALSE(last.contains("next"));
  EXPECT_EQ(last["streams"][0]["next_seq"], 7);
}

TEST_F(Documents, AStreamThatCannotBeLoadedSaysSo) {
  StreamTable::Listed listed;
  listed.name = "x";
  listed.status.unloadable = "0000000001.safetensors: is damaged";

  const Json page = Json::parse(streams_document({listed}, false));

  EXPECT_EQ(page["streams"][0]["trouble"], "cannot be loaded");
  EXPECT_EQ(page["streams"][0]["notice"],
            "cannot be loaded: 0000000001.safetensors: is damaged");
}

TEST_F(Documents, SnapshotsAndModelsAreListed) {
  EXPECT_EQ(snapshots_document({{3, true}, {4, false, false, 70, 5, 1000}}),
            R"({"snapshots":[{"number":3,"kept":true},)"
            R"({"number":4,"kept":false,"next_seq":70,"updates":5,)"
            R"("saved_ms":1000}]})");
  const Json index = Json::parse(
      repository_document({{"x", ModelReadiness::kReady, ""},
                           {"y", ModelReadiness::kUnloading, "why"}}));
  EXPECT_EQ(index[0]["state"], "READY");
  EXPECT_EQ(index[1]["state"], "UNLOADING");
  EXPECT_EQ(index[1]["reason"], "why");
  EXPECT_EQ(Json::parse(server_document())["name"], "sotta");
}

}  // namespace
}  // namespace sotta
