import { Alert } from '@mantine/core'
import { useAddress } from '../../ui/address.ts'
import { Page } from '../../ui/page.tsx'
import { signOnFaultText } from './faults.ts'

export default function RefusedPage() {
  const [{ refused = '' }] = useAddress()
  return (
    <Page title="Sign-in refused">
      <Alert color="red" role="alert">
        {signOnFaultText(refused)}
      </Alert>
    </Page>
  )
}
