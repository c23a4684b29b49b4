import unittest

from sailing import passage


class Passage(unittest.TestCase):
    def test_a_day_at_five_metres_a_second(self):
        self.assertAlmostEqual(passage.hours(233.26, 5), 24.0, places=2)
