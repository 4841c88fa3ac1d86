/** Takes a name of an applicant; equal texts are the same name in either form. */
export interface NameHasher {
  ofText(text: string): void
  ofUtf8(bytes: Uint8Array, start: number, end: number): void
}

/** Score, probability and grade of each row of a group; NaN and null where the model failed. */
export interface ResultColumns {
  readonly scores: Float64Array
  /** NaN also if the model has no scale. */
  readonly pds: Float64Array
  /** Index in the names of the model's grades; `NO_GRADE` for none. */
  readonly grades: Uint32Array
}
