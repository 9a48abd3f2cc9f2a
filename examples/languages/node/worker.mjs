import { run } from 'turnout-worker';

import './send_notification.mjs';
import './ship_order.mjs';

await run();
