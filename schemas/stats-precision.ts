/*
 * How finely statistics are counted. Threads that count need nothing else of the schemas, which
 * take 8 MB.
 */

/** Largest relative error of a percentile that is read from counts; the counts are kept finer. */
export const PERCENTILE_ERROR_MAX = 0.01

/** Width of a range of `score_buckets` in points. */
export const SCORE_BUCKET_WIDTH = 100
