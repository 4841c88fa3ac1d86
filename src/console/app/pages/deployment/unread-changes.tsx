import { Button } from '@mantine/core'
import { useSlug } from '../../api/deployments.ts'
import { useHistory } from '../../api/history.ts'
import { Notice } from '../../ui/states.tsx'

/** Says that the changes could not be read, so that charts without marks are not taken for calm. */
export function UnreadChanges() {
  const history = useHistory(useSlug())
  if (history.error === null) return null
  return (
    <Notice kind="watch">
      The changes of this deployment could not be read, so the charts mark none.{' '}
      <Button size="compact-sm" variant="default" onClick={() => void history.refetch()}>
        Read the changes again
      </Button>
    </Notice>
  )
}
