/** How an attempt to store records failed, judged by its error. */
export type Failure =
  /** One of the records can't be stored, now or ever. */
  | 'record'
  /** Maybe one of the records, maybe the state of the database. */
  | 'unclear'
  /** The database is away, or refuses whatever it is given. */
  | 'database'

export interface Suspect<R> {
  readonly record: R
  readonly error: unknown
  readonly failure: Failure
}

/** Records that fail alone before one has been stored, after which the fault is the database's. */
const LONE_FAILURES_MAX = 2

/**
 * Stores records in as few attempts as it takes to find those that can't be stored: what fails is tried again
 * in halves.
 *
 * @param store stores all of them or none
 * @param judge what an error of `store` says
 * @returns the records that failed alone, in order; all others are stored
 * @throws the error of `store` where it says that the fault is not a record's, or as long as nothing could
 *   be stored that would prove so
 */
export async function storeAllBut<R>(
  records: readonly R[],
  store: (records: readonly R[]) => Promise<void>,
  judge: (error: unknown) => Failure,
): Promise<Suspect<R>[]> {
  const suspects: Suspect<R>[] = []
  let isAnyStored = false
  const attempt = async (part: readonly R[]): Promise<void> => {
    try {
      await store(part)
      isAnyStored = true
    } catch (error) {
      const failure = judge(error)
      const [record] = part
      if (failure === 'database' || record === undefined) throw error
      if (part.length > 1) {
        const half = part.length >>> 1
        await attempt(part.slice(0, half))
        await attempt(part.slice(half))
        return
      }
      suspects.push({ record, error, failure })
      const unclear = suspects.filter((suspect) => suspect.failure === 'unclear')
      if (!isAnyStored && unclear.length >= LONE_FAILURES_MAX) throw error
    }
  }
  await attempt(records)
  return suspects
}
