/* The least that a circular shift test costs: as many sums of a shifted row as a sweep makes, and nothing else.
   Reads lines "events shifts" and takes the time of all of them; rows of random numbers, events at random places. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

int main(void) {
  enum { ROW = 8192, EVENTS = 64 };
  static double row[2 * ROW], sums[ROW];
  static int places[EVENTS];
  for (int i = 0; i < 2 * ROW; i++) row[i] = rand() / (double)RAND_MAX - 0.5;
  double start = now(), values = 0;
  long events;
  int shifts;
  while (scanf("%ld %d", &events, &shifts) == 2) {
    if (shifts < 1 || shifts > ROW / 2) continue;
    for (int i = 0; i < EVENTS; i++) places[i] = rand() % shifts;
    for (long e = 0; e < events; e++) {
      const double *from = row + places[e % EVENTS];
      for (int k = 0; k < shifts; k++) sums[k] += from[k];
    }
    values += (double)events * shifts;
  }
  double seconds = now() - start;
  printf("{\"seconds\": %.6f, \"values\": %.0f, \"sum\": %g}\n", seconds, values, sums[0] + sums[1]);
  return 0;
}
