#pragma once

#include <boost/circular_buffer.hpp>
#include <cstddef>
#include <utility>

namespace syncopate {

/// A FIFO queue with access by position. Unlike std::deque it keeps its memory.
template <class T>
class Queue : public boost::circular_buffer<T> {
 public:
  void push_back(T value) {
    constexpr std::size_t smallest = 8;
    if (this->full()) this->set_capacity(2 * this->capacity() + smallest);
    boost::circular_buffer<T>::push_back(std::move(value));
  }
};

}  // namespace syncopate
