// What the viewer's server makes of requests.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/view/server/opening_runs.hpp"
#include "libprof/view/server/server.hpp"
#include "tests/unit/replay.hpp"

using namespace gpuprof::view;
using nlohmann::json;

namespace {

std::string head(const std::string& more) {
  return "GET /a HTTP/1.1\r\nHost: 127.0.0.1:80\r\n" + more;
}

int status(const Listener& listener, const std::string& host, const Listener::Answer& answer) {
  Request request;
  request.method = "GET";
  request.path = "/" + listener.token() + "/api/run";
  request.host = host;
  return listener.respond(request, answer).status;
}

json ask(OpeningRuns& runs, const std::string& question,
         std::map<std::string, std::string, std::less<>> query = {}, int wanted = 200) {
  Request request;
  request.method = "GET";
  request.path = "api/" + question;
  request.query = std::move(query);
  Response response = runs(request);
  if (response.later) response = response.later([] { return false; });
  CHECK(response.status == wanted);
  return json::parse(response.body);
}

// The rows of all tracks of a run in its first view, by the track's name.
std::map<std::string, json> pictures(OpeningRuns& runs, const json& run) {
  std::string tracks;
  for (std::size_t i = 0; i < run["tracks"].size(); ++i) tracks += std::to_string(i) + ",";
  const json answer = ask(runs, "tiles",
                          {{"from", run["first_view"]["from"].dump()},
                           {"to", run["first_view"]["to"].dump()},
                           {"width", "700"},
                           {"tracks", tracks},
                           {"version", run["version"].dump()}});
  std::map<std::string, json> result;
  for (const json& tile : answer["tracks"]) {
    result[run["tracks"][tile[0].get<std::size_t>()]["path"].dump()] = tile[1];
  }
  return result;
}

}  // namespace

TEST_CASE("the picture of a run's GPU work is true while the rest is read") {
  const gpuprof::TemporaryFolder folder;
  replay(GPUPROF_SOURCE_DIR "/tests/captures/streams_graph.gpcap", folder / "run.sqlite");
  std::atomic<bool> reads_calls = false, goes_on = false;
  OpeningRuns runs({folder / "run.sqlite"},
                   {.interrupted =
                        [&] {
                          while (reads_calls && !goes_on) {
                            std::this_thread::sleep_for(std::chrono::milliseconds(1));
                          }
                          return false;
                        },
                    .show =
                        [&](std::string_view what) {
                          if (what.ends_with("KIND_RUNTIME")) reads_calls = true;
                        },
                    .much_work = 1});
  const json part = ask(runs, "run");
  CHECK(part["part"] == true);
  REQUIRE(part["tracks"].size() > 1);
  for (const json& track : part["tracks"]) CHECK(track["kind"] == "stream");
  CHECK(ask(runs, "stops", {{"version", "1"}}).contains("gaps"));
  const auto before = pictures(runs, part);
  CHECK(ask(runs, "names", {{"ids", "0"}, {"version", "1"}})["names"].size() == 1);
  goes_on = true;
  const json growth = ask(runs, "growth");
  CHECK(growth["version"] == 2);
  const json whole = ask(runs, "run");
  CHECK(whole["part"] == false);
  CHECK(whole["version"] == 2);
  CHECK(whole["first_view"] == part["first_view"]);
  CHECK(whole["stored"] == part["stored"]);
  REQUIRE(whole["tracks"].size() > part["tracks"].size());
  const auto after = pictures(runs, whole);
  for (const auto& [path, rows] : before) {
    CAPTURE(path);
    CHECK(after.at(path) == rows);
  }
  // A page that still shows the part is answered from it; what needs all records, it has to ask
  // again.
  CHECK(pictures(runs, part) == before);
  ask(runs, "statistics", {{"from", "0"}, {"to", "1"}, {"version", "1"}}, 409);
}

TEST_CASE("what browsers do not send is no request") {
  CHECK(parse_request(head("")));
  CHECK(parse_request(head("Accept: */*\r\nContent-Length: 0\r\n")));
  CHECK(parse_request("GET /a HTTP/1.1\r\nHost: a\r\nX:\r\n"));
  for (const char* more :
       {" .evil.com\r\n", "\t.evil.com\r\n", "Accept: a\r\n b\r\n", "nonsense\r\n", ": a\r\n",
        "Accept : a\r\n", "Content-Length: 5\r\n", "Content-Length: +0\r\n", "content-length:\r\n",
        "Content-Length: 0\r\nContent-Length: 5\r\n", "Transfer-Encoding: chunked\r\n",
        "Transfer-encoding: identity\r\n", "host: 127.0.0.1\r\n"}) {
    INFO(more);
    CHECK_FALSE(parse_request(head(more)));
  }
  // Another method gets its own answer, and the connection is closed.
  CHECK(parse_request("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"));
}

TEST_CASE("the server has a name and a port") {
  const Listener listener(0);
  const auto answer = [](const Request&) { return Response{}; };
  for (const char* host : {"127.0.0.1", "localhost", "LOCALHOST", "LocalHost:8000", "127.0.0.1:1",
                           "127.0.0.1:65535"}) {
    INFO(host);
    CHECK(status(listener, host, answer) == 200);
  }
  for (const char* host : {"127.0.0.1:evil", "localhost:", "localhost:0", "127.0.0.1:65536",
                           "127.0.0.1:-1", "127.0.0.1:+80", "127.0.0.1: 80", "127.0.0.1:80a"}) {
    INFO(host);
    CHECK(status(listener, host, answer) == 400);
  }
  for (const char* host : {"", "evil.com", "evil.com:80", "[::1]", "127.0.0.1:80:80"}) {
    INFO(host);
    CHECK(status(listener, host, answer) == 403);
  }
}

TEST_CASE("whatever an answer throws is said, and ends nothing") {
  const Listener listener(0);
  CHECK(status(listener, "localhost", [](const Request&) -> Response { throw std::bad_alloc(); }) ==
        500);
  CHECK(status(listener, "localhost",
               [](const Request&) -> Response { throw std::out_of_range("a"); }) == 500);
}
