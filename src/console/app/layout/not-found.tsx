import { Link } from '@tanstack/react-router'
import { Page } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'

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
