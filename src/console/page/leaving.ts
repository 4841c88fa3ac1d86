/** Between the tabs of this browser, when one of them signs out. */
const tabs = new BroadcastChannel('scoreline.leaving')
/** Longest time in which a tab says that it has something to do. */
const ANSWER_MS = 50
/** Longest time that signing out waits for other tabs. */
const DONE_MS = 1_000

/**
 * Lets a tab end what needs the session, before another tab ends the session.
 *
 * @param run returns null if there is nothing to do
 */
export function beforeOtherTabLeaves(run: () => Promise<void> | null): void {
  tabs.addEventListener('message', async ({ data }: MessageEvent<string>) => {
    const done = data === 'leaving' ? run() : null
    if (done === null) return
    tabs.postMessage('wait')
    await done.catch(() => {})
    tabs.postMessage('done')
  })
}

/** Waits until other tabs have ended what needs the session, for a second at most. */
export async function askOtherTabs(): Promise<void> {
  let busy = 0
  await new Promise<void>((resolve) => {
    const listen = ({ data }: MessageEvent<string>) => {
      if (data === 'wait') busy++
      if (data === 'done' && --busy === 0) finish()
    }
    const finish = () => {
      tabs.removeEventListener('message', listen)
      resolve()
    }
    tabs.addEventListener('message', listen)
    tabs.postMessage('leaving')
    setTimeout(() => busy === 0 && finish(), ANSWER_MS)
    setTimeout(finish, DONE_MS)
  })
}
