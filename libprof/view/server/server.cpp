#include "libprof/view/server/server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <list>
#include <memory>

#include "libprof/base/error.hpp"
#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"
#include "libprof/view/server/work.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_connections = 64;
constexpr int wait_ms = 200;

std::string random_token() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
    throw Error("the system gives no random numbers");
  }
  constexpr char digits[] = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += digits[byte >> 4];
    token += digits[byte & 15];
  }
  return token;
}

// Constant time: does not leak how many characters match.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differ = static_cast<unsigned char>(differ | (a[i] ^ b[i]));
  }
  return differ == 0;
}

bool is_port(std::string_view text) { return parse<std::uint16_t>(text).value_or(0) > 0; }

Response failed(const std::exception& error) {
  return {.status = 500, .body = error_answer(error.what())};
}

}  // namespace

struct Listener::Connection {
  explicit Connection(int opened) : socket(opened) {}
  ~Connection() { close(socket); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Returns false if the connection must be closed.
  bool write() {
    while (sent < out.size()) {
      const ssize_t count =
          send(socket, out.data() + sent, out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      sent += static_cast<std::size_t>(count);
    }
    out.clear();
    sent = 0;
    return !closing;
  }

  int socket;
  std::string in, out;
  std::size_t sent = 0;
  bool closing = false;  // once everything has been sent
  std::unique_ptr<Work> work;
};

std::optional<Endpoint> Endpoint::parsed(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  Endpoint endpoint{.host = std::string(text.substr(0, colon))};
  if (same_name(endpoint.host, "localhost")) endpoint.host = "127.0.0.1";
  in_addr address{};
  const auto port = parse<std::uint16_t>(text.substr(colon + 1));
  if (!port || inet_pton(AF_INET, endpoint.host.c_str(), &address) != 1) return std::nullopt;
  endpoint.port = *port;
  return endpoint;
}

Listener::Listener(std::uint16_t port) : token_(random_token()) { open({.port = port}); }

Listener::Listener(const Endpoint& endpoint, std::string token)
    : token_(std::move(token)), token_in_path_(false) {
  if (token_.empty() && !endpoint.is_local()) {
    throw Error("other machines need a token", "name a file that has it with --token-file",
                ExitCode::bad_option);
  }
  open(endpoint);
}

void Listener::open(const Endpoint& endpoint) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr);
  socklen_t size = sizeof address;
  if (socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(socket_, 16) != 0 ||
      getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const std::string why = std::strerror(errno);
    if (socket_ >= 0) close(socket_);
    throw Error(
        "port " + std::to_string(endpoint.port) + " of " + endpoint.host + " cannot be had: " + why,
        endpoint.port
            ? "choose another" + std::string(token_in_path_ ? ", or leave --port out" : "")
            : "",
        ExitCode::output_failed);
  }
  host_ = endpoint.host;
  port_ = ntohs(address.sin_port);
  woken_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);  // without it, responses are a little later
}

Listener::~Listener() {
  close(socket_);
  close(woken_);
}

std::string Listener::address() const {
  return "http://" + host_ + ":" + std::to_string(port_) + "/" +
         (token_in_path_ ? token_ + "/" : "");
}

// The host name that the client used: another site's name is rejected. The port may differ, because
// of an ssh tunnel.
std::optional<Response> Listener::refusal_of_host(const Request& request) const {
  const std::size_t colon = request.host.rfind(':');
  const std::string host = request.host.substr(0, colon);
  if (host != host_ && !same_name(host, "localhost")) {
    return Response{.status = 403, .body = error_answer("this address is not the server's")};
  }
  if (colon != request.host.npos && !is_port(request.host.substr(colon + 1))) {
    return Response{.status = 400, .body = error_answer("the address has no port")};
  }
  return std::nullopt;
}

std::optional<Response> Listener::refusal(const Request& request) const {
  // With a token in a header, which no browser sends by itself, the name does not matter.
  const bool by_header = !token_in_path_ && !token_.empty();
  if (by_header && !same_secret(request.authorization, "Bearer " + token_)) {
    return Response{.status = 401, .body = error_answer("Authorization: Bearer TOKEN is missing")};
  }
  if (!by_header) {
    if (auto refused = refusal_of_host(request)) return refused;
  }
  const std::string_view path = request.path;
  const std::size_t end = path.find('/', 1);
  if (token_in_path_ && (!path.starts_with('/') || end == path.npos ||
                         !same_secret(path.substr(1, end - 1), token_))) {
    return Response{.status = 403,
                    .body = error_answer("open the address that gpuprof view printed")};
  }
  if (request.method != "GET") {
    return Response{.status = 405, .body = error_answer("only GET is answered")};
  }
  return std::nullopt;
}

Response Listener::respond(const Request& request, const Answer& answer) const {
  if (auto refused = refusal(request)) return std::move(*refused);
  Request inner = request;
  inner.path.erase(0, token_in_path_ ? request.path.find('/', 1) + 1 : 1);
  try {
    return answer(inner);
  } catch (const std::exception& error) {
    return failed(error);
  }
}

// Returns false if the connection must be closed.
bool Listener::read(Connection& connection, const Answer& answer, Workers& workers) const {
  char buffer[4096];
  const ssize_t count = recv(connection.socket, buffer, sizeof buffer, MSG_DONTWAIT);
  if (count == 0) return false;
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (connection.closing) return true;  // input after the last request is ignored
  connection.in.append(buffer, static_cast<std::size_t>(count));
  return hear(connection, answer, workers);
}

bool Listener::hear(Connection& connection, const Answer& answer, Workers& workers) const {
  while (!connection.closing) {
    const std::size_t end = connection.in.find("\r\n\r\n");
    if (end == connection.in.npos && connection.in.size() <= longest_head) break;
    const bool too_long = end > longest_head;
    auto request =
        too_long ? std::nullopt : parse_request(std::string_view(connection.in).substr(0, end + 2));
    Response response{.status = 400,
                      .body = error_answer(too_long ? "the request is longer than 16 KiB"
                                                    : "this is not a request")};
    if (request) response = respond(*request, answer);
    // A body, which GET does not have, would be parsed as the next request.
    const bool keep = request && request->keep && request->method == "GET";
    connection.in.erase(0, end == connection.in.npos ? end : end + 4);
    if (response.later) {
      try {
        connection.work = std::make_unique<Work>(workers, std::move(response.later), keep);
        break;
      } catch (const std::exception& error) {  // no thread available
        response = failed(error);
      }
    }
    connection.out += written(response, keep);
    connection.closing = !keep;
  }
  return connection.write();
}

void Listener::serve(const Answer& answer, const std::function<bool()>& stop) {
  Workers workers(woken_);
  std::list<Connection> connections;
  std::list<std::unique_ptr<Work>> left;  // nobody waits for these
  std::vector<pollfd> polled;
  const auto close_one = [&](std::list<Connection>::iterator each) {
    if (each->work) {
      each->work->end();
      left.push_back(std::move(each->work));
    }
    return connections.erase(each);
  };
  while (!stop()) {
    polled.assign({{.fd = socket_, .events = POLLIN, .revents = 0},
                   {.fd = woken_, .events = POLLIN, .revents = 0}});
    for (const Connection& each : connections) {
      // Read no further request until the response has been sent.
      short events = each.out.empty() ? POLLIN : POLLOUT;
      if (each.work && each.out.empty()) events = POLLRDHUP;
      polled.push_back({.fd = each.socket, .events = events, .revents = 0});
    }
    std::erase_if(left, [](const auto& work) { return work->done(); });
    if (poll(polled.data(), polled.size(), wait_ms) < 0) continue;
    if (polled[1].revents & POLLIN) {
      eventfd_t done;
      eventfd_read(woken_, &done);
    }
    std::size_t at = 2;
    for (auto each = connections.begin(); each != connections.end(); ++at) {
      const short events = polled[at].revents;
      bool stays = true;
      try {
        if (events & POLLOUT) {
          stays = each->write();
        } else if (each->work) {
          stays = (events & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
        } else if (events != 0) {
          stays = read(*each, answer, workers);
        }
        if (stays && each->work && each->work->done()) {
          const std::unique_ptr<Work> work = std::move(each->work);
          each->out += written(work->response(), work->keep());
          each->closing = !work->keep();
          stays = hear(*each, answer, workers);
        }
      } catch (const std::exception&) {  // out of memory for the response
        stays = false;
      }
      each = stays ? std::next(each) : close_one(each);
    }
    if (!(polled[0].revents & POLLIN)) continue;
    const int accepted = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted < 0) continue;
    const int on = 1;
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // The oldest connection makes room: browsers open some that they never use.
    if (connections.size() == most_connections) close_one(connections.begin());
    connections.emplace_back(accepted);
  }
}

}  // namespace gpuprof::view
