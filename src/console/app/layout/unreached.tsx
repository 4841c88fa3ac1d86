import { useInterval } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import { unreachable } from '../api/errors.ts'
import { isReached } from '../api/exchange.ts'
import { RETRY_MS } from '../api/state.ts'
import { Page } from '../ui/page.tsx'
import { Empty, Failure } from '../ui/states.tsx'

/** Stands for a page whose code the service did not send. The page comes once it answers again. */
export function Unreached() {
  useInterval(() => void reloadIfReached(), RETRY_MS, { autoInvoke: true })
  return <Failure error={unreachable()} retry={() => void reloadIfReached()} />
}

/** Without the service the browser would show a page of its own instead. */
async function reloadIfReached(): Promise<void> {
  if (await isReached()) location.reload()
}

export function NotFound() {
  return (
    <Page title="No such page">
      <Empty title="There is nothing here">
        <p>
          The address may be out of date, or your role lacks access.{' '}
          <Link to="/">Go to the overview</Link>
        </p>
      </Empty>
    </Page>
  )
}
