/* sound.h - whether an encoder can certainly be built from a spec */
#pragma once

#include "structures/distinct.h"

/* Of a spec that passed the checks of build_model: 1 if building its encoder can fail for nothing
 * but memory. 0 of merges that are listed, which have rules of their own, and where it takes as
 * long to find out as to build it. *ret_pieces is to be freed whatever comes back; after 1 it finds
 * the pieces. */
int spec_is_sound(const unitok_spec *spec, distinct_table *ret_pieces);
