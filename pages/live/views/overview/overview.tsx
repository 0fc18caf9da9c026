import { Skeleton } from '../../../design/states.tsx';

/** What is being rejected right now, and how the service is. */
export function Overview() {
  return <Skeleton lines={8} />;
}
