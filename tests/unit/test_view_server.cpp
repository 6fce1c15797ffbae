// What the viewer's server makes of requests.
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

#include "libprof/view/server/server.hpp"

using namespace gpuprof::view;

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

}  // namespace

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
