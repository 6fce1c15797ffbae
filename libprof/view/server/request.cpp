#include "libprof/view/server/request.hpp"

#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::view {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      result += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

void parse_target(std::string_view target, Request& request) {
  const std::size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark == target.npos) return;
  for (const std::string& part : split(target.substr(mark + 1), '&')) {
    const std::size_t equals = part.find('=');
    if (equals == part.npos) continue;
    request.query[part.substr(0, equals)] = decoded(std::string_view(part).substr(equals + 1));
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    default: return "Internal Server Error";
  }
}

}  // namespace

std::optional<std::int64_t> Request::number(std::string_view name) const {
  return parse<std::int64_t>(text(name));
}

std::string_view Request::text(std::string_view name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::string_view() : found->second;
}

std::optional<Request> parse_request(std::string_view head) {
  Request request;
  std::size_t hosts = 0, authorizations = 0;
  bool first = true, body = false;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    if (end == head.npos) return std::nullopt;
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (first) {
      const std::size_t space = line.find(' '), last = line.rfind(' ');
      if (space == line.npos || space == last) return std::nullopt;
      const std::string_view version = line.substr(last + 1);
      if (version != "HTTP/1.1" && version != "HTTP/1.0") return std::nullopt;
      request.keep = version == "HTTP/1.1";
      request.method = line.substr(0, space);
      parse_target(line.substr(space + 1, last - space - 1), request);
      first = false;
      continue;
    }
    // No blanks in a name: a line that starts with one would continue the previous line, which
    // servers interpret differently.
    const std::size_t colon = line.find(':');
    if (colon == line.npos || colon == 0) return std::nullopt;
    const std::string_view name = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
    if (name.find_first_of(" \t") != name.npos) return std::nullopt;
    if (same_name(name, "host")) {
      request.host = value;
      ++hosts;
    } else if (same_name(name, "authorization")) {
      request.authorization = value;
      ++authorizations;
    } else if (same_name(name, "connection") && same_name(value, "close")) {
      request.keep = false;
    } else if (same_name(name, "content-length")) {
      body |= value != "0";
    } else if (same_name(name, "transfer-encoding")) {
      body = true;
    }
  }
  // A body would be parsed as the next request; after any other method the connection is closed.
  if (first || hosts > 1 || authorizations > 1 || (body && request.method == "GET"))
    return std::nullopt;
  return request;
}

std::string written(const Response& response, bool keep) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " " +
                     std::string(reason(response.status)) + "\r\n";
  const bool is_text = response.type != protobuf_type;
  text +=
      "Content-Type: " + std::string(response.type) + (is_text ? "; charset=utf-8" : "") + "\r\n";
  text += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  if (response.status == 401) text += "WWW-Authenticate: Bearer\r\n";
  if (response.status == 405) text += "Allow: GET\r\n";
  text +=
      "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
      "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n"
      "Cross-Origin-Opener-Policy: same-origin\r\n"
      "Cache-Control: no-store\r\n";
  text += keep ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return text += response.body;
}

}  // namespace gpuprof::view
