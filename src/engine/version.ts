/**
 * Version of the arithmetic, logged with each result. Raise it when a change can give the same spec
 * and the same values another score, probability, grade, bin or cell, be it in the last bit.
 */
export const ENGINE_VERSION = 1
