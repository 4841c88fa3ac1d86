/** The key of a score that the log has. */
export interface LoggedKey {
  /** See `AskedHash.shortKey` and `AskedHash.bodyTag`. */
  readonly keyHash: Uint8Array
  readonly bodyHash: Uint8Array
  readonly requestId: string
}

/** The keys of the last day that the log has. */
export interface LoggedKeys {
  /** @returns the newest request with the key */
  find(keyHash: Uint8Array): Promise<Omit<LoggedKey, 'keyHash'> | null>
  /** All that were committed before the call, some of them twice. */
  pages(): AsyncIterable<readonly LoggedKey[]>
  /** The first 8 bytes of the hashes of the same, one after the other. */
  hashPages(): AsyncIterable<Uint8Array>
}
