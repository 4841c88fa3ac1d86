/** The claim of a score's key by a request. */
export interface ScoreClaim {
  /** See `AskedHash.shortKey`. */
  readonly keyHash: Uint8Array
  /** See `formatTag`. */
  readonly bodyTag: string
  readonly requestId: string
}

/** Writes the tag of a body as text, each of its 8 bytes a character. */
export function formatTag(bodyTag: Uint8Array): string {
  return Buffer.from(bodyTag.buffer, bodyTag.byteOffset, bodyTag.length).toString('latin1')
}
