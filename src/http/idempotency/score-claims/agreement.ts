/**
 * The place where all processes of a database claim the keys of scores: in the database (*slow*), in Redis
 * (*fast*), or in both, while a process copies the keys of the last day into Redis.
 */
export type ClaimMode = 'slow' | 'both' | 'fast'

/** The state on which all processes have agreed. */
export interface Agreement {
  readonly mode: ClaimMode
  /** Name of the keys that Redis has, or is being given; another one after each loss. */
  readonly mark: string
  /** The run of Redis that has them. */
  readonly run: string
  /** The process that copies keys, in the mode *both*. */
  readonly loader: string
  readonly isLoaderAlive: boolean
  /** True while a process needs the mode *slow*. */
  readonly isKeptSlow: boolean
}

/** A process's right to claim keys in a mode. It ends by itself soon. */
export interface Lease {
  readonly mode: ClaimMode
  readonly mark: string
}

/** The state of the process that decides. */
export interface OwnState {
  readonly processId: string
  /** The run of Redis that it is connected to; null: it has none that can have keys. */
  readonly run: string | null
  /** Mark of keys that Redis has lost, as far as it has seen. */
  readonly lostMark: string | null
  /** Its last lease, while that is in force for others. */
  readonly lease: Lease | null
  /** True if the database has all scores that it has executed in the mode *fast*. */
  readonly isDrained: boolean
  /** Mark of the keys that it has copied. */
  readonly loadedMark: string | null
  /** A name for new keys. */
  readonly newMark: string
}

/** The lease of the only process of a database, which has keys in no Redis. */
export const ONLY_LEASE: Lease = { mode: 'fast', mark: '' }

export interface Decision {
  readonly mode: ClaimMode
  readonly mark: string
  readonly run: string
  readonly loader: string
  /** True if the mode may not be left for a while, since this process needs it. */
  readonly keepsSlow: boolean
  /** The new lease; null: none can be had yet. */
  readonly lease: Lease | null
  /** True if the last lease ends now, so that others wait for it no longer. */
  readonly endsLease: boolean
  /** True if the process should copy keys now. */
  readonly mayLoad: boolean
}

/**
 * Decides what a process may do, and what the agreement becomes. It is called under the lock of the
 * agreement, so that decisions come one after the other. What always holds:
 *
 * - no lease *slow* and no lease *fast* are in force at the same time;
 * - two leases *fast* are of the same mark, and Redis has all claims that were made before them;
 * - a process whose lease was *fast* has drained its scores, or died, before the first claim under a
 *   lease of another mark: the log has them.
 *
 * @param others leases of other processes that are in force
 */
export function decide(agreed: Agreement, others: readonly Lease[], own: OwnState): Decision {
  const { run } = own
  let { mode, mark, loader } = agreed
  const isLost = run !== agreed.run || own.lostMark === mark
  const keepsSlow = run === null || (mode === 'fast' && isLost)
  if (keepsSlow || (mode === 'both' && isLost)) mode = 'slow'
  const takesOver = mode === 'both' && !agreed.isLoaderAlive && loader !== own.processId
  if (run !== null && ((mode === 'slow' && !agreed.isKeptSlow && !keepsSlow) || takesOver)) {
    mode = 'both'
    mark = own.newMark
    loader = own.processId
  }
  const isFormer = (lease: Lease) =>
    lease.mode === 'fast' && (mode === 'slow' || lease.mark !== mark)
  const hasLeft = own.lease !== null && isFormer(own.lease)
  const hasFormer = (hasLeft && !own.isDrained) || others.some(isFormer)
  const claimsElsewhere = (lease: Lease) => lease.mode !== 'fast' && lease.mark !== mark
  const hasOther = others.some((lease) => lease.mode === 'slow' || claimsElsewhere(lease))
  const isLoader = mode === 'both' && loader === own.processId
  const mayLoad = isLoader && !hasFormer && !hasOther
  if (mayLoad && own.loadedMark === mark && own.lease?.mode !== 'slow') mode = 'fast'
  return {
    mode,
    mark,
    run: mode === 'slow' ? agreed.run : (run ?? ''),
    loader,
    keepsSlow,
    lease: hasFormer ? null : { mode, mark },
    endsLease: hasLeft && own.isDrained,
    mayLoad: mayLoad && mode === 'both' && own.loadedMark !== mark,
  }
}
