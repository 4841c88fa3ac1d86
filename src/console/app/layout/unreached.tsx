import { useInterval } from '@mantine/hooks'
import { unreachable } from '../api/errors.ts'
import { isReached } from '../api/exchange.ts'
import { RETRY_MS } from '../api/state.ts'
import { Failure } from '../ui/states.tsx'

/** Stands for a page whose code the service did not send. The page comes once it answers again. */
export function Unreached() {
  useInterval(() => void reloadIfReached(), RETRY_MS, { autoInvoke: true })
  return <Failure error={unreachable()} retry={() => void reloadIfReached()} />
}

/** Without the service the browser would show a page of its own instead. */
async function reloadIfReached(): Promise<void> {
  if (await isReached()) location.reload()
}
