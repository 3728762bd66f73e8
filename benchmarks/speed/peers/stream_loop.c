// The plainest TCP stream: a loop around send, and one around recv. It prints bytes and ns as the receiver saw them.
//
// stream_loop receive ADDRESS PORT | stream_loop send ADDRESS PORT MESSAGE_BYTES SECONDS
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t over;

static void end(int signal_number) { over = signal_number; }

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int receive(struct sockaddr_in *at) {
  static char room[1 << 17];
  int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (struct sockaddr *)at, sizeof *at) || listen(listener, 1)) return 1;
  puts("ready");
  fflush(stdout);
  int stream = accept(listener, NULL, NULL);
  uint64_t bytes = 0, first = 0, last = 0;
  for (ssize_t count; (count = recv(stream, room, sizeof room, 0)) > 0;) {
    bytes += (uint64_t)count;
    last = now_ns();
    if (!first) first = last;
  }
  printf("%" PRIu64 " %" PRIu64 "\n", bytes, last - first);
  return 0;
}

static int send_all(struct sockaddr_in *to, size_t length, double seconds) {
  char *message = malloc(length);
  memset(message, 0x5a, length);
  int stream = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(stream, (struct sockaddr *)to, sizeof *to)) return 1;
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGALRM, &action, NULL);
  timer_t timer;
  struct itimerspec when = {.it_value = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &when, NULL)) return 1;
  while (!over)
    if (send(stream, message, length, 0) < 0 && !over) return 1;
  close(stream);
  return 0;
}

int main(int count, char **words) {
  if (count < 4) return 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[3]))};
  inet_pton(AF_INET, words[2], &address.sin_addr);
  if (!strcmp(words[1], "receive")) return receive(&address);
  return count < 6 ? 2 : send_all(&address, (size_t)atol(words[4]), atof(words[5]));
}
