/* script.c - expands the runs of script_table.h to all code points */

#include "text/script.h"

#include "text/script_table.h"

/* One byte for each code point makes a lookup a single load; trainers fill the megabyte once. */
void script_fill(uint8_t *scripts)
{
    for (int i = 0; i < SCRIPT_RUNS; i++) {
        uint32_t end = i + 1 < SCRIPT_RUNS ? script_runs[i + 1].begin : SCRIPT_CODE_POINTS;
        memset(scripts + script_runs[i].begin, (int)script_runs[i].script,
               end - script_runs[i].begin);
    }
}
