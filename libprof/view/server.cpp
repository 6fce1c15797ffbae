#include "libprof/view/server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>

#include "libprof/base/error.hpp"
#include "libprof/view/answers.hpp"

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

// Takes as long whatever is equal.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differ = static_cast<unsigned char>(differ | (a[i] ^ b[i]));
  }
  return differ == 0;
}

}  // namespace

struct Listener::Connection {
  explicit Connection(int opened) : socket(opened) {}
  ~Connection() { close(socket); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // False: it is to be closed.
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
  bool closing = false;  // when all has been sent
};

Listener::Listener(std::uint16_t port) : token_(random_token()) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(socket_, 16) != 0 ||
      getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const std::string why = std::strerror(errno);
    if (socket_ >= 0) close(socket_);
    throw Error("port " + std::to_string(port) + " of 127.0.0.1 cannot be had: " + why,
                port ? "choose another, or leave --port out" : "", ExitCode::output_failed);
  }
  port_ = ntohs(address.sin_port);
}

Listener::~Listener() { close(socket_); }

std::string Listener::address() const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/" + token_ + "/";
}

Response Listener::respond(const Request& request,
                           const std::function<Response(const Request&)>& answer) const {
  // The name by which the browser found us: that of another site is none of ours. An ssh tunnel
  // may end at another port.
  const std::string host = request.host.substr(0, request.host.rfind(':'));
  if (host != "127.0.0.1" && host != "localhost") {
    return {.status = 403, .body = error_answer("this address is not the server's")};
  }
  const std::string_view path = request.path;
  const std::size_t end = path.find('/', 1);
  if (!path.starts_with('/') || end == path.npos || !same_secret(path.substr(1, end - 1), token_)) {
    return {.status = 403, .body = error_answer("open the address that gpuprof view printed")};
  }
  if (request.method != "GET") {
    return {.status = 405, .body = error_answer("only GET is answered")};
  }
  Request inner = request;
  inner.path = path.substr(end + 1);
  return answer(inner);
}

// False: the connection is to be closed.
bool Listener::read(Connection& connection,
                    const std::function<Response(const Request&)>& answer) const {
  char buffer[4096];
  const ssize_t count = recv(connection.socket, buffer, sizeof buffer, MSG_DONTWAIT);
  if (count == 0) return false;
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (connection.closing) return true;  // what comes after the last request is not heard
  connection.in.append(buffer, static_cast<std::size_t>(count));
  while (!connection.closing) {
    const std::size_t end = connection.in.find("\r\n\r\n");
    if (end == connection.in.npos && connection.in.size() <= longest_head) break;
    auto request = end > longest_head
                       ? std::nullopt
                       : parse_request(std::string_view(connection.in).substr(0, end + 2));
    Response response{.status = 400, .body = error_answer("this is no request")};
    if (request) response = respond(*request, answer);
    // A body, which GET has not, would be taken for the next request.
    const bool keep = request && request->keep && request->method == "GET";
    connection.out += written(response, keep);
    connection.closing = !keep;
    connection.in.erase(0, end == connection.in.npos ? end : end + 4);
  }
  return connection.write();
}

void Listener::serve(const std::function<Response(const Request&)>& answer,
                     const std::function<bool()>& stop) {
  std::list<Connection> connections;
  std::vector<pollfd> polled;
  while (!stop()) {
    polled.assign(1, {.fd = socket_, .events = POLLIN, .revents = 0});
    for (const Connection& each : connections) {
      // Nothing more is heard before what was said has gone out.
      const short events = each.out.empty() ? POLLIN : POLLOUT;
      polled.push_back({.fd = each.socket, .events = events, .revents = 0});
    }
    if (poll(polled.data(), polled.size(), wait_ms) <= 0) continue;
    std::size_t at = 1;
    for (auto each = connections.begin(); each != connections.end(); ++at) {
      const short events = polled[at].revents;
      bool stays = true;
      if (events & POLLOUT) {
        stays = each->write();
      } else if (events != 0) {
        stays = read(*each, answer);
      }
      each = stays ? std::next(each) : connections.erase(each);
    }
    if (!(polled[0].revents & POLLIN)) continue;
    const int accepted = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted < 0) continue;
    const int on = 1;
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // The oldest makes room: browsers open some that they never use.
    if (connections.size() == most_connections) connections.pop_front();
    connections.emplace_back(accepted);
  }
}

}  // namespace gpuprof::view
