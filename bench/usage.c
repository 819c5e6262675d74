/* usage REPORT PROGRAM WORDS…: runs the program, and writes into the file REPORT what it cost, as one line of JSON: seconds
   of wall clock, seconds of processor (user and system, all threads), bytes of peak memory and bytes written to disk.
   A parent made of node would not do: it is never told what its children cost. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static double seconds(struct timeval t) { return t.tv_sec + t.tv_usec / 1e6; }

int main(int count, char **words) {
  if (count < 3) return 2;
#ifdef __APPLE__
  const double unit = 1;
#else
  const double unit = 1024;
#endif
  double start = now();
  pid_t child = fork();
  if (child == 0) {
    execvp(words[2], words + 2);
    _exit(127);
  }
  int status = 0;
  struct rusage used;
  if (child < 0 || wait4(child, &status, 0, &used) < 0) return 2;
  double wall = now() - start;
  FILE *report = fopen(words[1], "w");
  if (report == NULL) return 2;
  fprintf(report, "{\"wall\": %.6f, \"cpu\": %.6f, \"peak\": %.0f, \"written\": %.0f}\n", wall,
          seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss * unit, used.ru_oublock * 512.0);
  fclose(report);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
