import type { AskedHashes } from '../asked-hashes.ts'
import type { Right } from './claims-mode.ts'
import type { FoundClaim } from './score-claims.ts'

/** A claim that was begun before it is sure that its request will be executed. */
export class EarlyClaim {
  readonly hashes: AskedHashes
  readonly right: Right
  /** Undefined until Redis has answered. */
  found: FoundClaim | null | undefined
  private onFound: ((found: FoundClaim | null) => void) | null = null

  constructor(hashes: AskedHashes, right: Right) {
    this.hashes = hashes
    this.right = right
  }

  settle(found: FoundClaim | null): void {
    this.found = found
    this.onFound?.(found)
  }

  /** To be called once. */
  async wait(): Promise<FoundClaim | null> {
    if (this.found !== undefined) return this.found
    return new Promise((resolve) => {
      this.onFound = resolve
    })
  }
}
