// The HTTP server of gpuprof view and gpuprof serve.
//
// The viewer's is reachable only from this machine and has one address, containing an unguessable
// token: clients without it, and pages of other sites whose host name was made to resolve to us
// (DNS rebinding), get nothing. It accepts only GET and changes nothing.
//
// One thread listens and answers; slow responses are computed on others (Response::later).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/view/model/answers.hpp"
#include "libprof/view/model/details.hpp"
#include "libprof/view/model/model.hpp"
#include "libprof/view/model/question.hpp"
#include "libprof/view/model/stops.hpp"
#include "libprof/view/server/request.hpp"

namespace gpuprof::view {

class Workers;

// Where to listen: "127.0.0.1:9400", "localhost:9400".
struct Endpoint {
  std::string host = "127.0.0.1";  // of IPv4
  std::uint16_t port = 0;          // 0: any that is free

  static std::optional<Endpoint> parsed(std::string_view text);
  bool is_local() const { return host.starts_with("127."); }
};

// A listening socket. Not thread-safe.
class Listener {
 public:
  // The viewer's, on 127.0.0.1. 0: any free port. Throws Error.
  explicit Listener(std::uint16_t port);
  // For programs. With a token, requests need it as "Authorization: Bearer TOKEN"; without, only a
  // local address is possible, and requests have to name it. Throws Error.
  Listener(const Endpoint& endpoint, std::string token);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const { return port_; }
  const std::string& token() const { return token_; }
  std::string address() const;  // "http://127.0.0.1:8123/TOKEN/", or without TOKEN

  using Answer = std::function<Response(const Request&)>;

  // Answers requests until stop() returns true, which is polled several times a second and after
  // each signal. `answer` is passed requests that may be answered, with the path after the token.
  void serve(const Answer& answer, const std::function<bool()>& stop);

  // The response to a request; calls `answer` if the request is acceptable.
  Response respond(const Request& request, const Answer& answer) const;

 private:
  struct Connection;
  void open(const Endpoint& endpoint);
  // nullopt: the request may be answered.
  std::optional<Response> refusal(const Request& request) const;
  std::optional<Response> refusal_of_host(const Request& request) const;
  bool read(Connection& connection, const Answer& answer, Workers& workers) const;
  bool hear(Connection& connection, const Answer& answer, Workers& workers) const;

  int socket_ = -1;
  int woken_ = -1;  // an eventfd: a slow response is ready
  std::string host_;
  std::uint16_t port_ = 0;
  std::string token_;
  bool token_in_path_ = true;
};

// What is shown of a file.
struct Run {
  std::string title, path;
  Model model;
  Stops stops;
  std::vector<std::string> notes;
  // Reads the file; may throw Error.
  std::function<Details(const Place&, const Item&)> find_details;
  // Runs the user's SQL, see rows_answer(); may throw Error. May be called from any thread.
  std::function<std::string(std::string_view sql, const std::function<bool()>& is_over)> ask;
  // Reads the file for a question with the parameters of this request. May be called from any
  // thread.
  using Reader = std::function<std::string(const Asked&)>;
  std::function<std::string(const Reader&, const Request&, const std::function<bool()>& is_over)>
      answer;
};

// Answers the page's requests from runs, which must outlive this object: one run, or two side by
// side, of which the second includes the names of both.
class Answers {
 public:
  explicit Answers(std::vector<const Run*> runs, Growth growth = {})
      : runs_(std::move(runs)), growth_(growth) {}

  Response operator()(const Request& request) const;

 private:
  Response api(const Request& request) const;
  Response begin(const Run& run, const Request& request) const;
  Response comparison(const Request& request) const;
  Response differences(const Request& request) const;
  Response details(const Run& run, const Request& request) const;
  Response rows(const Run& run, const Request& request) const;

  const std::vector<const Run*> runs_;
  const Growth growth_;
};

}  // namespace gpuprof::view
