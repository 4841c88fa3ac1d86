/** The claim of a score's key by a request. */
export interface ScoreClaim {
  /** See `AskedHash.shortKey`. */
  readonly keyHash: Uint8Array
  /** See `formatTag`. */
  readonly bodyTag: string
  readonly requestId: string
}

/** A key that is not free. */
export interface HeldClaim {
  /**
   * A request has claimed it; or its score is logged, and it is never executed again; or the
   * database knows who has it.
   */
  readonly state: 'claimed' | 'logged' | 'stored'
  readonly bodyTag: string
  readonly requestId: string
  /** Since it was claimed, by the clock of who has the claim. */
  readonly ageMs: number
}

/** The reply to a claim. */
export interface ClaimReply {
  /** Null: the key was free, and belongs to the request now. */
  readonly held: HeldClaim | null
  /** Of the keys that Redis has, see `RedisClaims.beginLoading`; empty if it has lost them. */
  readonly mark: string
}

/** The end of a claim: its score is logged, its key is free, or another request has it. */
export type ClaimChange = 'logged' | 'free' | ScoreClaim

/** A key of the database. */
export type LoadedKey = Omit<HeldClaim, 'ageMs'> & {
  readonly keyHash: Uint8Array
  /** Seconds since 1970 when it was claimed. */
  readonly sinceSec: number
}

/** Writes the tag of a body as text, each of its 8 bytes a character. */
export function formatTag(bodyTag: Uint8Array): string {
  return Buffer.from(bodyTag.buffer, bodyTag.byteOffset, bodyTag.length).toString('latin1')
}
