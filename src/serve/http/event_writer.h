#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/stream_traits.hpp>

#include "serve/http/event_source.h"

namespace sotta {

// Writes an event source to a connection until either side ends: a comment now
// and then keeps those between from closing it. Used by the thread of the
// stream's executor alone; `Stream` is a beast::tcp_stream, or lies over one.
template <class Stream>
class EventWriter : public std::enable_shared_from_this<EventWriter<Stream>> {
 public:
  static constexpr std::chrono::seconds kKeepAlive{15};

  // `session` owns the stream, and lives as long as this.
  EventWriter(std::shared_ptr<void> session, Stream& stream,
              std::shared_ptr<EventSource> events, int64_t write_seconds)
      : session_(std::move(session)),
        stream_(stream),
        events_(std::move(events)),
        write_seconds_(write_seconds),
        timer_(stream.get_executor()) {}

  // `header` goes first.
  void start(std::string header) {
    const auto executor = stream_.get_executor();
    events_->on_news([weak = this->weak_from_this(), executor] {
      boost::asio::post(executor, [weak] {
        if (const auto self = weak.lock()) self->wake();
      });
    });
    // A client that sends anything more, or nothing any more, has gone.
    socket().async_wait(
        boost::asio::socket_base::wait_read,
        [self = this->shared_from_this()](auto) { self->stop(); });
    write(std::move(header));
  }

  void stop() {
    if (!events_) return;
    events_->on_news(nullptr);
    events_.reset();
    timer_.cancel();
    boost::beast::get_lowest_layer(stream_).close();
  }

 private:
  auto& socket() { return boost::beast::get_lowest_layer(stream_).socket(); }

  void write(std::string text) {
    text_ = std::move(text);
    writing_ = true;
    boost::beast::get_lowest_layer(stream_).expires_after(
        std::chrono::seconds(write_seconds_));
    boost::asio::async_write(
        stream_, boost::asio::buffer(text_),
        [self = this->shared_from_this()](auto problem, size_t) {
          self->writing_ = false;
          if (problem) return self->stop();
          self->go_on();
        });
  }

  void wake() {
    if (!writing_) go_on();
  }

  void go_on() {
    if (!events_) return;
    std::string text = events_->take();
    if (!text.empty()) return write(std::move(text));
    if (events_->ended()) return stop();
    boost::beast::get_lowest_layer(stream_).expires_never();
    timer_.expires_after(kKeepAlive);
    timer_.async_wait([self = this->shared_from_this()](auto problem) {
      if (!problem && self->events_ && !self->writing_)
        self->write(": keep-alive\n\n");
    });
  }

  std::shared_ptr<void> session_;
  Stream& stream_;
  std::shared_ptr<EventSource> events_;  // none once it has stopped
  int64_t write_seconds_;
  boost::asio::steady_timer timer_;
  std::string text_;
  bool writing_ = false;
};

}  // namespace sotta
