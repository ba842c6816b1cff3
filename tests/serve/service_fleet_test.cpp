#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "serve/fleet/redis_storage.h"
#include "serve/http/service.h"
#include "tests/serve/redis_server.h"
#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using testing::SmallService;

// A service whose streams are in a Redis.
class ServiceFleet : public testing::WithRedis {
 protected:
  std::shared_ptr<const RedisStore> store(const std::string& address) const {
    FleetOptions options;
    options.redis = redis->address();
    options.advertise = address;
    options.lease_ms = lease_ms;
    return std::make_shared<const RedisStore>(options);
  }

  void start(ServiceOptions options = {}) {
    options.fleet = store("http://127.0.0.1:1");
    std::vector<std::unique_ptr<ServedModel>> models;
    models.push_back(
        std::make_unique<ServedModel>(testing::small_model(), *options.fleet));
    fleet = options.fleet;
    service = std::make_unique<Service>(std::move(models), std::move(options));
  }

  std::future<HttpResponse> send(
      const std::string& method, const std::string& target,
      const std::string& body = "",
      std::map<std::string, std::string> headers = {}) const {
    const auto answer = std::make_shared<std::promise<HttpResponse>>();
    service->handle({method, target, std::move(headers), body},
                    [answer](HttpResponse response) {
                      answer->set_value(std::move(response));
                    });
    return answer->get_future();
  }

  // The parameters of the answer to a stream's request.
  nlohmann::json infer(const std::string& stream, int64_t first) const {
    const auto [json, pixels] = SmallService::infer_body(
        first, 1, "\"sequence_id\":\"" + stream + "\"");
    const std::string length = std::to_string(json.size());
    const HttpResponse response =
        send("POST", "/v2/models/m/infer", json + pixels,
             {{"inference-header-content-length", length}})
            .get();
    EXPECT_EQ(response.status, 200) << response.body;
    for (const auto& [name, value] : response.headers)
      if (name == "Inference-Header-Content-Length")
        return nlohmann::json::parse(
            response.body.substr(0, std::stoul(value)))["parameters"];
    return {};
  }

  int64_t lease_ms = FleetOptions().lease_ms;
  std::shared_ptr<const RedisStore> fleet;
  std::unique_ptr<Service> service;
};

bool is_elsewhere(StreamStorage& storage) {
  try {
    storage.claim(true);
    return false;
  } catch (const StreamElsewhere&) {
    return true;
  }
}

TEST_F(ServiceFleet, AListOfStreamsIsMadeByAWorker) {
  std::promise<void> opened;
  const std::shared_future<void> gate = opened.get_future().share();
  ServiceOptions options;
  options.dispatcher.prepare_thread = [gate] { gate.wait(); };
  start(options);

  auto listed = send("GET", "/v2/models/m/streams");

  EXPECT_EQ(listed.wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
  EXPECT_EQ(send("GET", "/v2/health/live").get().status, 200);
  opened.set_value();
  EXPECT_EQ(listed.get().status, 200);
}

TEST_F(ServiceFleet, StreamsAreGivenBackBeforeAllIsAnswered) {
  start();
  infer("a", 0);
  const auto other = store("http://127.0.0.1:2");
  const auto taken = other->open("m", "a");
  EXPECT_TRUE(is_elsewhere(*taken));

  service->begin_drain();

  for (int tries = 0; is_elsewhere(*taken) && tries < 3000; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(is_elsewhere(*taken));
  // A request that was still arriving takes its stream, and gives it back.
  const auto parameters = infer("b", 0);
  EXPECT_EQ(parameters["durable_seq"], 1);
  EXPECT_EQ(fleet->counts().held, 0);
  EXPECT_EQ(service->drain(), 0u);
}

TEST_F(ServiceFleet, AStreamOfAKilledServerGoesOnBeforeItsLeaseLapses) {
  lease_ms = 600000;
  start();
  RedisClient client(redis->address());
  const std::string lease = redis_key("m", "a") + ":lease";
  client.run({{"HSET", lease, "owner", "killed", "address",
               "http://127.0.0.1:" + std::to_string(testing::free_port())},
              {"PEXPIRE", lease, "290000"}});  // it has missed a renewal

  EXPECT_EQ(infer("a", 0)["next_seq"], 1);
}

}  // namespace
}  // namespace sotta
